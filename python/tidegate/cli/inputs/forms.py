"""The input formats by name, and how to detect a file's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tidegate.cli.inputs.errors import UnreadableClientError, UnreadableLineError
from tidegate.cli.inputs.json_logs import caddy, mapped, read_object, traefik_json
from tidegate.cli.inputs.mapping import PRESETS, of_object, preset_or_file
from tidegate.cli.inputs.mapping import Mapping as Names
from tidegate.cli.inputs.prefixes import readings
from tidegate.cli.inputs.tables import Csv, W3c
from tidegate.cli.inputs.text_logs import alb, combined, envoy, haproxy, nginx, traefik_text
from tidegate.errors import EventError

Reader: TypeAlias = "Callable[[str], bytes | None]"
"""Turns a line into an event as JSON; None for a line that isn't about a request."""

_OPENING = "{"
_EVENT = frozenset(
    ("request", "fields", "source", "observed_at", "return_url", "idempotency_key", "tenant_id")
)
_ERROR_LOG = re.compile(
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[\w+\] \d+#\d+: |\[[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d [\d:.]+"
    r" \d{4}\] \[[\w:-]+\] \[pid "
)
"""Lines from nginx's and Apache's error logs, which containers write to the same stream."""


class Form:
    """A line format.

    Attributes:
        name: as in ``--input`` or ``--mapping``.
    """

    def __init__(self, name: str, make: Callable[[], Reader]) -> None:
        self.name = name
        self._make = make
        self._read = make()

    def read(self, text: str) -> bytes | None:
        """The event in a first line that has no carrier's prefix.

        Raises:
            UnreadableLineError: the line has another format.
        """
        return self._make()(text)

    def fresh(self) -> Form:
        """The same format for another file, since some remember the column names."""
        return Form(self.name, self._make)

    def __call__(self, line: bytes) -> bytes | None:
        """The event in a line; None for a line that isn't about a request.

        Raises:
            UnreadableLineError: the line has another format; the message names this one.
        """
        tried = []
        for text in readings(_text(line)):
            try:
                return self._read(text)
            except UnreadableLineError as refused:
                error = refused
                tried.append(text)
        if any(_ERROR_LOG.match(text) for text in tried):
            return None
        raise type(error)(
            f"{error} (read as `{self.name}`; --input names another form, --mapping other members)"
        )


class Events(Form):
    """Lines that are events already."""

    def __init__(self) -> None:
        super().__init__("json", lambda: str.encode)

    def __call__(self, line: bytes) -> bytes:
        """The line itself, without its carrier's prefix."""
        if line.lstrip()[:1] == b"{" and not line.startswith(b'{"log"'):
            return line
        found = (text for text in readings(_text(line)) if text.startswith(_OPENING))
        return next((text.encode() for text in found), line)

    def fresh(self) -> Form:
        """The format itself, since it has no state."""
        return self


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()


def _traefik(text: str) -> bytes | None:
    return traefik_json(text) if text.startswith(_OPENING) else traefik_text(text)


def _stateless(name: str, read: Reader) -> Form:
    return Form(name, lambda: read)


FORMS: Mapping[str, Form] = {
    "json": Events(),
    "combined": _stateless("combined", combined),
    "nginx": _stateless("nginx", nginx),
    "caddy": _stateless("caddy", caddy),
    "traefik": _stateless("traefik", _traefik),
    "alb": _stateless("alb", alb),
    "haproxy": _stateless("haproxy", haproxy),
    "envoy": _stateless("envoy", envoy),
    "w3c": Form("w3c", W3c),
    "csv": Form("csv", Csv),
}
_LIKELY = ("alb", "haproxy", "envoy", "traefik", "nginx", "csv")
"""Text formats, the strictest first; each combined line is also an nginx line."""


def form_of(lines: Iterable[bytes]) -> Form:
    """Detect the format from the first line that has one; JSON events if none has."""
    for line in lines:
        for text in readings(_text(line)):
            form = _form_of_text(text)
            if form is not None:
                return form.fresh()
    return FORMS["json"]


def _form_of_text(text: str) -> Form | None:
    if text.startswith(("#Fields:", "#Version:", "#Software:")):
        return FORMS["w3c"]
    if text.startswith(_OPENING):
        try:
            return _form_of_object(read_object(text))
        except UnreadableLineError:
            return None
    return next((FORMS[name] for name in _LIKELY if _reads(FORMS[name], text)), None)


def _form_of_object(entry: dict[str, Any]) -> Form | None:
    request = entry.get("request")
    if isinstance(request, dict) and "uri" in request:
        return FORMS["caddy"]
    if "RequestPath" in entry:
        return FORMS["traefik"]
    if not _EVENT.isdisjoint(entry) and not isinstance(request, str):
        return FORMS["json"]
    return next((_of_mapping(name, PRESETS[name]) for name in PRESETS if _fits(name, entry)), None)


def _fits(preset: str, entry: dict[str, Any]) -> bool:
    """Whether a preset's names give an object a client and a path."""
    try:
        event = read_object(of_object(entry, PRESETS[preset]).decode())
    except UnreadableLineError:
        return False
    headers = event["request"].get("headers", {})
    has_client = "client_ip" in event["request"] or "x-forwarded-for" in headers
    return has_client and "path" in event["request"]


def _reads(form: Form, text: str) -> bool:
    try:
        form.read(text)
    except UnreadableClientError:
        return True
    except EventError:
        return False
    return not _ERROR_LOG.match(text)


def mapped_form(name: str | Path, *, is_csv: bool = False) -> Form:
    """The format of objects, or CSV, that a mapping describes.

    Args:
        name: a preset's name, or a file's.
        is_csv: whether the lines are CSV with a header.

    Raises:
        click.BadParameter: the mapping doesn't exist, or it is invalid.
    """
    mapping = preset_or_file(str(name))
    return Form(str(name), lambda: Csv(mapping)) if is_csv else _of_mapping(str(name), mapping)


def _of_mapping(name: str, mapping: Names) -> Form:
    return _stateless(name, partial(mapped, mapping=mapping))
