"""A server worker as a gateway of another process sees it."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from tests.faults.target import Target
from tests.faults.traffic import RUNTIME as PATH
from uuid_utils import uuid7

from tidegate_server.framing import framed
from tidegate_server.owners.messages import (
    Asked,
    Batch,
    Calls,
    Decided,
    HandedOn,
    Hello,
    Message,
    Outcomes,
    Standing,
    decode,
    encode,
)

EVENT = orjson.dumps({"request": {"method": "GET", "path": "/", "client_ip": "203.0.113.5"}})
BATCH = b"/api/v1/beacon/events"
SECONDS = 60.0


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Target]:
    """A service of two workers; its tenant lives in the first partition."""
    place = tmp_path_factory.mktemp("link")
    settings = {"TIDEGATE_SERVER_WORKERS": "2", "TIDEGATE_WORKERS_PROCESSES": "1"}
    made = Target.make(place / "data", place / "log", settings)
    yield made
    made.end(signal.SIGTERM)


class ScriptedGateway:
    """A gateway of the first partition's owner.

    Args:
        target: the service.
        link: the number of the link.
    """

    def __init__(self, target: Target, link: int) -> None:
        self._key = target.api_key.encode()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(SECONDS)
        self._socket.connect(str(target.directory / "partition-0.socket"))
        self._send(Hello("fellow", 1, link, 0))
        assert self._next() == Standing(is_owner=True)

    def ask(self, is_repeated: bool, ids: list[bytes], key: bytes | None = None) -> dict[int, Any]:
        """Outcomes of calls, by their place: an answer's bytes, or the status of a refusal."""
        count = len(ids)
        columns = [PATH] * count, [key or self._key] * count, [None] * count, [EVENT] * count
        self._send(Calls(1, 0, is_repeated, ids, *columns))  # type: ignore[arg-type]
        found: dict[bytes, Any] = {}
        while len(found) < count:
            message = self._next()
            if isinstance(message, Decided):
                found.update(zip(message.ids, message.bodies, strict=True))
            elif isinstance(message, Outcomes):
                for each in message.outcomes:
                    assert each.answer is not None
                    status, body = each.answer.status, each.answer.body
                    found[each.id] = body if status == 200 else status
        return {place: found[each] for place, each in enumerate(ids)}

    def ask_batch(self, is_repeated: bool, name: bytes, count: int) -> list[dict[str, Any]]:
        """The items of the answer to a batch."""
        body = b"[%b]" % b",".join([EVENT] * count)
        headers = [(b"content-type", b"application/json"), (b"x-service-api-key", self._key)]
        asked = Asked("POST", BATCH, headers, body, None, "http")
        self._send(Batch("hot", 1, [HandedOn(name, is_repeated, asked)]))
        message = self._next()
        assert isinstance(message, Outcomes)
        (outcome,) = message.outcomes
        assert outcome.answer is not None
        items: list[dict[str, Any]] = orjson.loads(outcome.answer.body)
        return items

    def close(self) -> None:
        self._socket.close()

    def _send(self, message: Message) -> None:
        self._socket.sendall(framed(encode(message)))

    def _next(self) -> Message:
        return decode(self._read(int.from_bytes(self._read(4))))

    def _read(self, count: int) -> bytes:
        read = b""
        while len(read) < count:
            more = self._socket.recv(count - len(read))
            assert more
            read += more
        return read


def decisions(target: Target) -> list[str]:
    """Ids of the tenant's decisions."""
    found = target.control("GET", f"{target.tenant}/decisions?limit=500").json()
    return [each["decision_id"] for each in found]


def test_what_is_asked_again_is_decided_once(target: Target) -> None:
    """An owner that is asked again answers from its log what is there, with the same bytes, and
    decides the rest under the ids that it got."""
    gateway, ids = ScriptedGateway(target, 1), [uuid7().bytes for _ in range(4)]
    first = gateway.ask(False, ids[:2])
    gateway.close()
    gateway = ScriptedGateway(target, 2)
    again = gateway.ask(True, ids)
    assert (again[0], again[1]) == (first[0], first[1])
    named = [orjson.loads(again[number])["decision_id"].replace("-", "") for number in range(4)]
    assert named == [each.hex() for each in ids]
    assert gateway.ask(True, ids) == again
    found = [each.replace("-", "") for each in decisions(target)]
    assert sorted(each for each in found if each in named) == sorted(named)
    gateway.close()


def test_a_batch_that_is_asked_again_is_decided_once(target: Target) -> None:
    """Each event of a batch has its id of the batch's, so the next owner knows what was decided."""
    gateway, name = ScriptedGateway(target, 3), uuid7().bytes
    first = gateway.ask_batch(False, name, 3)
    again = gateway.ask_batch(True, name, 5)
    assert again[:3] == first
    assert {each["status"] for each in again} == {200}
    assert len({each["item_id"] for each in again}) == 5
    assert gateway.ask_batch(True, name, 5) == again
    gateway.close()


def test_what_is_asked_again_needs_a_key_that_counts(target: Target) -> None:
    """Nobody gets a recorded answer, or a decision, by an invalid key."""
    gateway, ids = ScriptedGateway(target, 4), [uuid7().bytes]
    gateway.ask(False, ids)
    assert gateway.ask(True, ids, b"tg_aaaaaaaaaaaaaaaa_" + b"b" * 52) == {0: 401}
    gateway.close()
