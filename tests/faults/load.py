"""Load from many connections that remembers what was acknowledged, in a file of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import attrs

CONNECTIONS = 32
ANSWER_SECONDS = 60.0


@attrs.frozen
class Call:
    """One event on its way: the same key always has the same body."""

    path: str
    key: str
    body: bytes


@attrs.frozen
class Acknowledged:
    """A call that was answered with 200."""

    call: Call
    answer: bytes
    is_replayed: bool

    @property
    def decision_id(self) -> str:
        """Id of the decision."""
        answer = json.loads(self.answer)
        return str(answer.get("decision_id") or answer["item_id"])


@attrs.define
class Outcome:
    """The outcomes of the calls of one load.

    Attributes:
        unknown: sent, and never answered: they may have been decided or not.
        refused: statuses other than 200, with how often and the last body.
    """

    acknowledged: list[Acknowledged] = attrs.field(factory=list)
    unknown: list[Call] = attrs.field(factory=list)
    refused: dict[int, tuple[int, bytes]] = attrs.field(factory=dict)


class Connection:
    """One connection that is kept alive."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self._address = urlsplit(base_url)
        self._api_key = api_key
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """The status, headers in lower case, and body of the answer.

        Raises:
            OSError: the connection could not be made, or ended before the answer.
        """
        head = (
            f"POST {path} HTTP/1.1\r\nhost: {self._address.netloc}\r\n"
            f"x-service-api-key: {self._api_key}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        return await self.exchange(head.encode() + body)

    async def exchange(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """The status, headers in lower case, and body of the answer to a whole request.

        Raises:
            OSError: the connection could not be made, or ended before the answer.
        """
        if self._writer is None or self._reader is None:
            where = self._address
            self._reader, self._writer = await asyncio.open_connection(where.hostname, where.port)
        self._writer.write(request)
        try:
            return await asyncio.wait_for(self._answer(self._reader), ANSWER_SECONDS)
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("the connection ended before the answer") from error

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        body = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), headers, body

    def close(self) -> None:
        """Close; the next call makes a new one."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


async def send(
    base_url: str,
    api_key: str,
    calls: Iterable[Call],
    remember: Callable[[Acknowledged], None] = lambda _: None,
    connections: int = CONNECTIONS,
) -> Outcome:
    """Send calls until they end, or until the server does.

    Args:
        remember: called with each acknowledgement before the connection's next call.
    """
    outcome = Outcome()
    remaining = iter(calls)

    async def work() -> None:
        connection = Connection(base_url, api_key)
        try:
            for call in remaining:
                try:
                    status, headers, answer = await connection.post(call.path, call.body)
                except OSError:
                    outcome.unknown.append(call)
                    return
                if status == 200:
                    made = Acknowledged(call, answer, "idempotency-replayed" in headers)
                    remember(made)
                    outcome.acknowledged.append(made)
                else:
                    count = outcome.refused.get(status, (0, b""))[0]
                    outcome.refused[status] = (count + 1, answer)
        finally:
            with suppress(OSError):
                connection.close()

    await asyncio.gather(*(work() for _ in range(connections)))
    return outcome


class Notebook:
    """The file of what was acknowledged: one line each, written before anything else happens."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def add(self, made: Acknowledged) -> None:
        """Write one acknowledgement."""
        line = {
            "key": made.call.key,
            "path": made.call.path,
            "decision_id": made.decision_id,
            "answer": made.answer.decode(),
            "event": made.call.body.decode(),
        }
        self._file.write(json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_notebook(path: Path) -> list[Acknowledged]:
    """Everything that was acknowledged, in order."""
    lines = map(json.loads, path.read_bytes().splitlines())
    return [
        Acknowledged(
            Call(line["path"], line["key"], line["event"].encode()), line["answer"].encode(), False
        )
        for line in lines
    ]
