"""The forms of input by name, and which of them a file has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import click
import yaml

from tidegate.cli.inputs.event import UnreadableLineError
from tidegate.cli.inputs.json_logs import caddy, mapped, read_object, traefik_json
from tidegate.cli.inputs.text_logs import alb, combined, nginx, traefik_text
from tidegate.errors import EventError

Form: TypeAlias = "Callable[[bytes], bytes]"
"""Makes an event, as JSON, of a line; raises EventError for a line of another form."""

_MEMBERS = ("method", "scheme", "host", "path", "client_ip", "user_agent", "referer", "target")
_GROUPS = ("headers", "query_params", "cookies", "route_params")
_OPENING = "{"


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()


def _of_text(read: Callable[[str], bytes], line: bytes) -> bytes:
    return read(_text(line))


def events(line: bytes) -> bytes:
    """A line that is an event already."""
    return line


def _traefik(text: str) -> bytes:
    return traefik_json(text) if text.startswith(_OPENING) else traefik_text(text)


FORMS: Mapping[str, Form] = {
    "json": events,
    "combined": partial(_of_text, combined),
    "nginx": partial(_of_text, nginx),
    "caddy": partial(_of_text, caddy),
    "traefik": partial(_of_text, _traefik),
    "alb": partial(_of_text, alb),
}
_LIKELY = ("alb", "traefik", "nginx")
"""Forms of text from the one that asks for most; each line of combined is one of nginx."""


def form_of(lines: Iterable[bytes]) -> Form:
    """The form of the first line that has one; events as JSON when none has."""
    for line in lines:
        name = _name_of(line)
        if name is not None:
            return FORMS[name]
    return events


def _name_of(line: bytes) -> str | None:
    text = _text(line)
    if text.startswith(_OPENING):
        try:
            return _name_of_object(read_object(text))
        except UnreadableLineError:
            return None
    return next((name for name in _LIKELY if _reads(FORMS[name], line)), None)


def _name_of_object(entry: dict[str, Any]) -> str:
    request = entry.get("request")
    if isinstance(request, dict) and "uri" in request:
        return "caddy"
    return "traefik" if "RequestPath" in entry else "json"


def _reads(form: Form, line: bytes) -> bool:
    try:
        form(line)
    except EventError:
        return False
    return True


def mapped_form(path: Path) -> Form:
    """The form that a mapping file describes.

    Raises:
        click.BadParameter: the file is no mapping of members of an event to names.
    """
    try:
        content = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise click.BadParameter(f"`{path}` cannot be read: {reason}") from None
    if not isinstance(content, dict) or not content:
        raise click.BadParameter(
            f"`{path}` must map members of an event to names of the log, such as"
            " `request.client_ip: remote_addr`"
        )
    for member, name in content.items():
        if not _is_member(str(member)) or not isinstance(name, str):
            raise click.BadParameter(
                f"`{path}`: `{member}` is no member of an event; there are observed_at,"
                f" {', '.join(f'request.{each}' for each in _MEMBERS)},"
                f" {', '.join(f'request.{each}.NAME' for each in _GROUPS)}, fields.NAME"
            )
    return partial(_of_text, partial(mapped, mapping=content))


def _is_member(member: str) -> bool:
    group, _, rest = member.partition(".")
    if group == "request":
        name, _, inner = rest.partition(".")
        return name in _GROUPS and bool(inner) if inner else name in _MEMBERS
    return member == "observed_at" or (group == "fields" and bool(rest))
