"""Logs with a header that names the columns: W3C extended (IIS, CloudFront), and CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from tidegate.cli.inputs.errors import UnreadableLineError
from tidegate.cli.inputs.event import any_time, event_of
from tidegate.cli.inputs.mapping import Mapping as Names
from tidegate.cli.inputs.mapping import guessed, of_object
from tidegate.evaluation.target import query_members

_FIELDS = "#Fields:"
_W3C: Mapping[str, tuple[str, ...]] = {
    "client_ip": ("c-ip",),
    "method": ("cs-method",),
    "path": ("cs-uri-stem", "cs-uri"),
    "query": ("cs-uri-query",),
    "host": ("x-host-header", "cs-host", "cs(Host)"),
    "scheme": ("cs-protocol",),
    "protocol": ("cs-version", "cs-protocol-version"),
    "user_agent": ("cs(User-Agent)",),
    "referer": ("cs(Referer)",),
    "forwarded": ("x-forwarded-for", "X-Forwarded-For", "cs(X-Forwarded-For)"),
    "cookie": ("cs(Cookie)",),
    "status": ("sc-status",),
    "bytes": ("sc-bytes",),
    "user": ("cs-username",),
}
_DELIMITERS = ",;\t|"
_FEW_COLUMNS = 3
_LONG_HEADER = 4_096


class W3c:
    """W3C's extended format, with the columns of the last `#Fields:` line."""

    def __init__(self) -> None:
        self._columns: list[str] = []

    def __call__(self, text: str) -> bytes | None:
        """The event in a line; None for a directive.

        Raises:
            UnreadableLineError: no `#Fields:` came before, or the line has other columns.
        """
        if text.startswith("#"):
            if text.startswith(_FIELDS):
                self._columns = text.removeprefix(_FIELDS).split()
            return None
        if not self._columns:
            raise UnreadableLineError(
                "no line `#Fields: ...` came before it; put it at the top of the file"
            )
        by_tabs = "\t" in text
        values = text.split("\t") if by_tabs else text.split()
        if len(values) != len(self._columns):
            raise UnreadableLineError(
                f"the line has {len(values)} columns, and `#Fields:` names {len(self._columns)}"
            )
        row = dict(zip(self._columns, values, strict=True))
        return _w3c_event(row, is_cloudfront=by_tabs)


def _w3c_event(row: Mapping[str, str], *, is_cloudfront: bool) -> bytes:
    def found(member: str) -> str | None:
        value = next((row[name] for name in _W3C[member] if name in row), None)
        return None if value in ("", "-") else value

    def written(member: str) -> str | None:
        """A text in which the server replaced blanks: IIS by `+`, CloudFront by `%20`."""
        value = found(member)
        if value is None:
            return None
        return unquote(value) if is_cloudfront else value.replace("+", " ")

    query = found("query")
    headers = {"x-forwarded-for": written("forwarded"), "cookie": written("cookie")}
    request: dict[str, Any] = {
        "method": found("method"),
        "host": found("host"),
        "protocol": found("protocol"),
        "scheme": found("scheme"),
        "path": found("path"),
        **query_members(query or ""),
        "user_agent": written("user_agent"),
        "referer": written("referer"),
        "headers": {name: value for name, value in headers.items() if value} or None,
        "client_ip": found("client_ip") or "-",
    }
    fields = {name: found(name) for name in ("status", "bytes", "user")}
    day, time = row.get("date"), row.get("time")
    return event_of(request, fields, any_time(f"{day}T{time}Z") if day and time else None)


class Csv:
    """CSV with a header; its columns are named by a mapping, or have common log names."""

    def __init__(self, mapping: Names | None = None) -> None:
        self._mapping = mapping
        self._columns: list[str] = []
        self._delimiter = ","

    def __call__(self, text: str) -> bytes | None:
        """The event in a line; None for the header.

        Raises:
            UnreadableLineError: the header has no known name, or the line has other columns.
        """
        if not self._columns:
            self._start(text)
            return None
        values = _row(text, self._delimiter)
        if len(values) != len(self._columns):
            raise UnreadableLineError(
                f"the line has {len(values)} columns, and the header {len(self._columns)}"
            )
        if values == self._columns:
            return None
        assert self._mapping is not None
        return of_object(dict(zip(self._columns, values, strict=True)), self._mapping)

    def _start(self, text: str) -> None:
        delimiter = max(_DELIMITERS, key=text.count)
        columns = [name.strip() for name in _row(text, delimiter)]
        is_header = len(columns) >= _FEW_COLUMNS and len(text) <= _LONG_HEADER
        mapping: Names = {}
        if is_header:
            mapping = self._mapping or guessed([dict.fromkeys(columns, "")])
        if "request.client_ip" not in mapping:
            raise UnreadableLineError(
                "the first line must name the columns, among them the client's address, such as"
                " `time,client_ip,method,path,status`; name others by --mapping"
            )
        self._columns, self._delimiter, self._mapping = columns, delimiter, mapping


def objects(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of CSV with a header as objects; lines that aren't CSV are left out."""
    delimiter = max(_DELIMITERS, key=lines[0].count)
    columns, *rows = [row for line in lines if (row := _row_or_none(line, delimiter))]
    return [dict(zip(columns, row, strict=False)) for row in rows]


def _row_or_none(text: str, delimiter: str) -> list[str]:
    try:
        return [value.strip() for value in _row(text, delimiter)]
    except UnreadableLineError:
        return []


def _row(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise UnreadableLineError(f"the line isn't CSV: {error}") from None
