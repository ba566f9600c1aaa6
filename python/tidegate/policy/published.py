"""Reads published lists: bytes and the present list become new entries, or a coded refusal.

A list decides about visitors, and its source isn't under the site's control. So anything that looks
like a mistake or a takeover is refused, and the present entries stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from tidegate.errors import TidegateError
from tidegate.functions.addresses import is_private_range, parse_range
from tidegate.language.tree.diagnostics import quote
from tidegate.policy.definitions.model import MAX_ENTRY_CHARACTERS, MAX_LIST_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.definitions.model import ListSource, NamedList

MAX_BYTES = 5_000_000
"""The most bytes of a published list."""
_WIDEST = {4: 8, 6: 19}
"""Prefix length of the widest network that an entry may be, by IP version."""
_ANY_TYPES = frozenset(("text/plain", "application/octet-stream", "binary/octet-stream"))
"""Types of servers that don't know better; the last is Amazon's."""
_JSON_TYPES = frozenset(("application/json", "text/json"))
_INDEX = re.compile(r"0|[1-9][0-9]*")
_PREFIXES = {"ipv4Prefix": 4, "ipv6Prefix": 6}
_KEY_MEMBERS: dict[tuple[str, str | None], tuple[str, ...]] = {
    ("OKP", "Ed25519"): ("crv", "kty", "x"),
    ("RSA", None): ("e", "kty", "n"),
}
"""The members that a thumbprint is made of, in their order, by kind and curve."""
_KEY_BYTES = {"x": (32, 32), "e": (1, 8), "n": (256, 512)}
"""The bytes of the parts of a key; RSA keys have 2,048 to 4,096 bits."""
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


class RefreshRefusedError(TidegateError):
    """A refresh was refused; the list stays as it is.

    Attributes:
        code: one of the stable codes that ``tidegate explain-code`` knows.
        detail: what was found, as part of a sentence.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{detail} [{code}]")
        self.code = code
        self.detail = detail


def is_list_type(media_type: str, source: ListSource) -> bool:
    """Whether an answer of a media type can have a list in the source's format."""
    if media_type in _ANY_TYPES:
        return True
    if source.format == "lines":
        return media_type.startswith("text/") and media_type not in ("text/html", "text/xml")
    return media_type in _JSON_TYPES or media_type.endswith("+json")


def read_published(
    content: bytes, before: NamedList, most: int = MAX_LIST_ENTRIES
) -> tuple[str, ...]:
    """The entries that a list gets from a published text.

    Args:
        content: the bytes that its source answered.
        before: the present list, which has a source.
        most: the most entries that it may have.

    Returns:
        The present entries, as they are, if the same ones are published in any order; otherwise the
        published entries, each once.

    Raises:
        RefreshRefusedError: the text can't be used; the code says why.
    """
    source = before.source
    if source is None:
        raise RefreshRefusedError("no-source", "the list has no source")
    if len(content) > MAX_BYTES:
        raise RefreshRefusedError("source-too-large", f"more than {MAX_BYTES:,} bytes")
    found = tuple(dict.fromkeys(_entries(content, source, before.kind)))
    if not found:
        raise RefreshRefusedError("source-empty", "the published list has no entries")
    if len(found) > most:
        detail = f"{len(found):,} entries are published, at most {most:,} fit into a list"
        raise RefreshRefusedError("source-too-large", detail)
    for each in found:
        _need_usable(each, before.kind)
    present = set(before.entries)
    if present == set(found):
        return before.entries
    if source.format == "keys":
        return found  # a change of keys replaces all of a few
    _need_small_change(len(present), len(found), source.max_change_percent)
    return found


def _entries(content: bytes, source: ListSource, kind: str) -> Iterator[str]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable("the published list isn't UTF-8") from None
    if text.lstrip()[:1] == "<":
        raise _unreadable("a page in HTML or XML is published instead of a list")
    if source.format == "lines":
        return _lines(text, is_ip=kind == "ip")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _unreadable("the published list isn't JSON") from None
    if source.format == "prefixes":
        return _prefixes(document)
    if source.format == "keys":
        return _keys(document)
    return _texts(_at(document, source.pointer or ""), source.pointer or "")


def _lines(text: str, *, is_ip: bool) -> Iterator[str]:
    """Lines without comments; one behind an entry is known only where an entry has no ``#``."""
    for line in text.split("\n"):
        entry = line.strip()
        if is_ip:
            entry = entry.partition("#")[0].partition(";")[0].strip()
        elif entry.startswith("#"):
            continue
        if entry:
            yield entry


def _prefixes(document: Any) -> Iterator[str]:
    items = document.get("prefixes") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise _unreadable("the published JSON has no array `prefixes`")
    for at, item in enumerate(items):
        given = item if isinstance(item, dict) else {}
        names = [name for name in _PREFIXES if name in given]
        if not names:
            raise _unreadable(f"`/prefixes/{at}` has neither `ipv4Prefix` nor `ipv6Prefix`")
        for name in names:
            entry = given[name]
            network = parse_range(entry) if isinstance(entry, str) else None
            if network is None or network.version != _PREFIXES[name]:
                raise _invalid(entry, f"isn't a network for `{name}`")
            yield entry


def _keys(document: Any) -> Iterator[str]:
    """The usable keys of a JWK Set, each in the form that its thumbprint is made of (RFC 7638, 3).

    Keys of other kinds, and for other uses, are left out, as RFC 7517, section 5, says.
    """
    items = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise _unreadable("the published JSON has no array `keys`")
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            raise _unreadable(f"`/keys/{at}` isn't a key")
        kind = item.get("kty")
        curve = item.get("crv") if kind == "OKP" else None
        names = None
        if isinstance(kind, str) and isinstance(curve, str | None):
            names = _KEY_MEMBERS.get((kind, curve))
        if names is None or item.get("use", "sig") != "sig":
            continue
        entry = {name: item.get(name) for name in names}
        for name in names:
            if name not in ("kty", "crv"):
                _need_bytes(entry[name], name, f"/keys/{at}/{name}")
        yield orjson.dumps(entry).decode()


def _need_bytes(text: Any, name: str, place: str) -> None:
    """Refuse a part of a key that isn't base64url, or that is too short or long."""
    least, most = _KEY_BYTES[name]
    found = _BASE64URL.fullmatch(text) if isinstance(text, str) else None
    if found is None or not least <= len(text) * 3 // 4 <= most:
        raise _invalid(text, f"isn't a part of a key that can be used, at `{place}`")


def _at(document: Any, pointer: str) -> Any:
    """The value at a JSON Pointer (RFC 6901)."""
    found = document
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and _INDEX.fullmatch(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            raise _unreadable(f"the published JSON has nothing at `{pointer}`")
    return found


def _texts(items: Any, pointer: str) -> Iterator[str]:
    if not isinstance(items, list):
        raise _unreadable(f"there is no array at `{pointer}` of the published JSON")
    for at, entry in enumerate(items):
        if not isinstance(entry, str):
            raise _unreadable(f"`{pointer}/{at}` of the published JSON isn't a text")
        yield entry


def _need_usable(entry: str, kind: str) -> None:
    """Refuse an entry that a list can't have, or that a published list shouldn't."""
    if not entry.strip() or len(entry) > MAX_ENTRY_CHARACTERS or not entry.isprintable():
        raise _invalid(entry, "isn't an entry: empty, too long, or with a control character")
    if kind != "ip":
        return
    network = parse_range(entry)
    if network is None:
        raise _invalid(entry, "is neither an address nor a network")
    widest = _WIDEST[network.version]
    if network.network.prefixlen < widest:
        detail = f"{quote(entry)} is wider than /{widest}"
        raise RefreshRefusedError("source-network-too-wide", detail)
    if is_private_range(network):
        detail = f"{quote(entry)} has addresses that aren't of the public internet"
        raise RefreshRefusedError("source-private-range", detail)


def _need_small_change(before: int, after: int, most: int) -> None:
    """Refuse a list that shrinks or grows too much; an empty one may get any number of entries."""
    if before and abs(after - before) * 100 > most * before:
        word = "grows" if after > before else "shrinks"
        detail = f"the list {word} from {before:,} to {after:,} entries, by more than {most} %"
        raise RefreshRefusedError("source-change-too-large", detail)


def _unreadable(detail: str) -> RefreshRefusedError:
    return RefreshRefusedError("source-unreadable", detail)


def _invalid(entry: object, problem: str) -> RefreshRefusedError:
    return RefreshRefusedError("source-invalid-entry", f"{quote(str(entry))} {problem}")
