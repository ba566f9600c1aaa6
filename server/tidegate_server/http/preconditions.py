"""``If-Match`` and ``If-None-Match`` over the revision of an object (RFC 9110, section 13)."""

from __future__ import annotations

import re

import attrs

from tidegate_server.http.problems import ErrorDetail, Problem

_TAGS = re.compile(r'(?:W/)?"[!#-~]*"(?:[ \t]*,[ \t]*(?:W/)?"[!#-~]*")*')
_TAG = re.compile(r'(?:W/)?"[!#-~]*"')
MAX_LENGTH = 1_024


def entity_tag(revision: int) -> str:
    """Return the strong tag of a revision."""
    return f'"{revision}"'


@attrs.frozen
class Precondition:
    """The tags in a request; None means ``*``."""

    tags: frozenset[str] | None

    def require(self, revision: int) -> None:
        """Refuse a change made without knowledge of the present revision.

        Raises:
            Problem: ``stale-revision``.
        """
        if self.tags is not None and entity_tag(revision) not in self.tags:
            detail = f"the present revision is {revision}; read the object again"
            raise Problem("stale-revision", detail, headers={"etag": entity_tag(revision)})


def read_tags(header: str, text: str | None) -> Precondition | None:
    """Return the tags in a header.

    Raises:
        Problem: ``malformed-request``, if it isn't a list of entity tags.
    """
    if text is None:
        return None
    if text.strip() == "*":
        return Precondition(None)
    if len(text) > MAX_LENGTH or not _TAGS.fullmatch(text.strip()):
        detail = f'`{header}` must be `*` or entity tags such as `"3"`'
        errors = [ErrorDetail(detail=detail, header=header)]
        raise Problem("malformed-request", detail, errors=errors)
    return Precondition(frozenset(_TAG.findall(text)))


def is_unchanged(header: str | None, tag: str) -> bool:
    """Tell whether ``If-None-Match`` names the tag, by the weak comparison of RFC 9110.

    Raises:
        Problem: ``malformed-request``, if it isn't a list of entity tags.
    """
    known = read_tags("if-none-match", header)
    if known is None:
        return False
    return known.tags is None or tag in {each.removeprefix("W/") for each in known.tags}
