"""The site behind a proxy, which writes down what it is asked, and the visitors in front of it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress

import attrs
from tests.integrations.differential.spellings import Spelling

VISITORS = 16
NO_NUMBER = -1
"""Of a request that was read without its headers."""
ANSWER_SECONDS = 10.0
TRIES = 5
"""A busy machine may decide too late for the proxy, which then refuses."""
_UNDECIDED = b"502"
_ENDS = frozenset(b"\r\n")
_OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
_CLOSED = re.compile(rb"\r\nconnection: *close\r\n", re.IGNORECASE)


@attrs.frozen
class Served:
    """A request as it reached the site.

    Attributes:
        line: the request line.
        headers: names in lower case.
    """

    line: bytes
    headers: Sequence[tuple[bytes, bytes]]

    @property
    def target(self) -> bytes:
        """The target, if the line has exactly three parts."""
        parts = self.line.split(b" ")
        assert len(parts) == 3, self.line
        return parts[1]

    def header(self, name: bytes) -> bytes | None:
        """The only value of a header."""
        values = [value for each, value in self.headers if each == name]
        assert len(values) < 2, (name, values)
        return values[0] if values else None


class Site:
    """Answers everything with 200, and writes down what it is asked."""

    def __init__(self) -> None:
        self.served: defaultdict[int, list[Served]] = defaultdict(list)
        """By the number of the spelling."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *rest = head[:-4].split(b"\r\n")
                pairs = (each.partition(b":") for each in rest)
                served = Served(line, [(name.lower(), value.strip()) for name, _, value in pairs])
                self.served[int(served.header(b"x-spelling") or NO_NUMBER)].append(served)
                writer.write(_OK)
                if line.endswith(b"/1.0"):
                    break
        writer.close()


class Visitors:
    """Ask for spellings, each visitor for one after the other on a connection that is kept."""

    def __init__(self, port: int, spellings: Sequence[Spelling]) -> None:
        self._port = port
        self._left: Iterator[tuple[int, Spelling]] = iter(enumerate(spellings))
        self.statuses: Counter[bytes] = Counter()

    async def ask(self) -> None:
        """Ask for everything."""
        await asyncio.gather(*(self._visit() for _ in range(VISITORS)))

    async def _visit(self) -> None:
        writer = None
        for number, spelling in self._left:
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            for _ in range(TRIES):
                writer.write(spelling.request(number))
                status, is_kept = b"closed", False
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        status, is_kept = await _answer(reader)
                if status != _UNDECIDED or not is_kept:
                    break
            self.statuses[status] += 1
            # A line with a line break in it may have been read as more than one request.
            if not is_kept or _ENDS.intersection(spelling.line + spelling.host):
                writer.close()
                writer = None
        if writer is not None:
            writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[bytes, bool]:
    """The status of an answer, and whether its connection is kept."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = head[9:12]
    if _CLOSED.search(head):
        return status, False
    if found := _LENGTH.search(head):
        await reader.readexactly(int(found[1]))
    elif _CHUNKED.search(head):
        while await reader.readuntil(b"\r\n") != b"0\r\n":
            await reader.readuntil(b"\r\n")
        await reader.readexactly(2)
    elif status not in (b"204", b"304"):
        return status, False
    return status, head.startswith(b"HTTP/1.1")
