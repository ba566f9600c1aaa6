"""Decisions in a file, as a service writes it."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest
from tests.server.deciding import deciding, made
from tests.waiting import wait_until

from tidegate_server.publishing.base import NotTakenError
from tidegate_server.publishing.json_lines import JsonLines
from tidegate_server.publishing.messages import Message

MESSAGE = Message(1, UUID(int=1), UUID(int=2), b"{}")


def published(path: Path) -> list[dict[str, Any]]:
    """The messages of a file, up to its last whole line."""
    content = path.read_bytes() if path.exists() else b""
    return [orjson.loads(line) for line in content.split(b"\n")[:-1]]


def ids(messages: Iterable[dict[str, Any]]) -> list[str]:
    """The ids of messages, in order."""
    return [each["id"] for each in messages]


def test_each_decision_is_a_line_with_what_was_answered_and_recorded(
    tmp_path: Path, process: None
) -> None:
    """In order, with the event as it was recorded; a lift of an operator is one, too."""
    path = tmp_path / "decisions.jsonl"
    with deciding(tmp_path / "data", publish_url=f"file://{path}") as service:
        shop = service.tenant()
        secret = {"headers": {"x-api-key": "hush"}}
        answers = [shop.decide("/login", request=secret) for _ in range(4)]
        [active] = shop.get("active-mitigations")
        one = f"{shop.path}/active-mitigations/{active['entity_id']}"
        made(shop.by("Owner").request("DELETE", one))
        wait_until(lambda: len(published(path)) >= 5)
    messages = published(path)
    assert [each["type"] for each in messages] == ["decision"] * 4 + ["ended"]
    assert ids(messages)[:4] == [each["decision_id"] for each in answers]
    assert [each["answer"] for each in messages[:4]] == answers
    assert [each["record"]["action"]["type"] for each in messages[2:4]] == ["block", "block"]
    assert messages[4]["ended"]["mitigations"][0]["policy_id"] == active["policy_id"]
    assert {each["tenant_id"] for each in messages} == {shop.tenant_id}
    assert [each["seq"] for each in messages] == sorted({each["seq"] for each in messages})
    assert b"hush" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_after_a_kill_nothing_is_missing_and_repetitions_have_the_same_id(
    tmp_path: Path, process: None
) -> None:
    """Acknowledged decisions are in the file after the next start, also those a kill cut short."""
    path, data = tmp_path / "decisions.jsonl", tmp_path / "data"
    acknowledged: list[str] = []
    for _ in range(2):
        with deciding(data, publish_url=f"file://{path}") as service:
            shop = service.tenant()
            acknowledged += [shop.decide("/")["decision_id"] for _ in range(40)]
            os.kill(service.process.pid, signal.SIGKILL)
        with path.open("ab") as file:
            file.write(b'{"id":"half a li')
    with deciding(data, publish_url=f"file://{path}"):
        wait_until(lambda: set(acknowledged) <= set(ids(published(path))))
    assert list(dict.fromkeys(ids(published(path)))) == acknowledged


def test_a_file_that_is_moved_away_is_made_again(tmp_path: Path, process: None) -> None:
    """Programs that rotate files need tell nobody."""
    path = tmp_path / "decisions.jsonl"
    with deciding(tmp_path / "data", publish_url=f"file://{path}") as service:
        shop = service.tenant()
        first = shop.decide("/")["decision_id"]
        wait_until(lambda: ids(published(path)) == [first])
        path.rename(tmp_path / "before.jsonl")
        second = shop.decide("/")["decision_id"]
        wait_until(lambda: ids(published(path)) == [second])


def test_a_file_that_cannot_be_written_is_reported_and_decisions_go_on(
    tmp_path: Path, process: None
) -> None:
    """The folder comes later, and so do the decisions."""
    path = tmp_path / "later" / "decisions.jsonl"
    with deciding(tmp_path / "data", publish_url=f"file://{path}") as service:
        shop = service.tenant()
        expected = [shop.decide("/")["decision_id"] for _ in range(3)]
        page = service.http.get("/metrics").text
        assert "tidegate_published_total 0.0" in page
        wait_until(
            lambda: "tidegate_publish_failures_total 0.0" not in service.http.get("/metrics").text
        )
        path.parent.mkdir()
        wait_until(lambda: ids(published(path)) == expected)


@pytest.mark.parametrize("number", [0, 1])
def test_what_was_decided_before_the_first_start_with_a_destination_is_not_sent(
    tmp_path: Path, number: int, process: None
) -> None:
    """The stream begins when it is asked for."""
    path, data = tmp_path / "decisions.jsonl", tmp_path / "data"
    with deciding(data) as service:
        shop = service.tenant()
        for _ in range(number):
            shop.decide("/")
    with deciding(data, publish_url=f"file://{path}") as service:
        only = service.tenant().decide("/")["decision_id"]
        wait_until(lambda: bool(published(path)))
    assert ids(published(path)) == [only]


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A link in the place of the file is refused, and what it leads to is left alone."""
    other, path = tmp_path / "other", tmp_path / "decisions.jsonl"
    other.write_bytes(b"half a line")
    path.symlink_to(other)
    with pytest.raises(NotTakenError):
        asyncio.run(JsonLines(path).send([MESSAGE]))
    assert other.read_bytes() == b"half a line"


def test_only_a_file_is_written_to(tmp_path: Path) -> None:
    """A pipe is refused at once, whether somebody reads it or not."""
    os.mkfifo(path := tmp_path / "decisions.jsonl")
    with pytest.raises(NotTakenError):
        asyncio.run(JsonLines(path).send([MESSAGE]))


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_file_keeps_its_mode(tmp_path: Path, mask: int) -> None:
    """A new file is its owner's alone, whatever the umask; another one stays as it was."""
    new, given = tmp_path / "new.jsonl", tmp_path / "given.jsonl"
    given.touch()
    given.chmod(0o640)
    before = os.umask(mask)
    try:
        for path in (new, given):
            asyncio.run(JsonLines(path).send([MESSAGE]))
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (new, given)] == [0o600, 0o640]
    assert new.read_bytes() == given.read_bytes() == b"{}\n"
