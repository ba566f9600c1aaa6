"""Decisions in a stream of a real NATS server that is stopped, and begins again."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import nats
import orjson
import pytest
from nats.js.api import StreamConfig
from tests.server.deciding import deciding
from tests.waiting import wait_until

PROGRAM = shutil.which("nats-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = pytest.mark.usefixtures("broker")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def begin(directory: Path, port: int) -> subprocess.Popen[bytes]:
    """A server with JetStream; it answers when this returns."""
    assert PROGRAM
    command = [PROGRAM, "-js", "-sd", str(directory), "-a", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    wait_until(answers)
    return process


async def add_stream(url: str) -> None:
    """A stream that listens to all decisions."""
    client = await nats.connect(url)
    await client.jetstream().add_stream(
        StreamConfig(name="DECISIONS", subjects=["shop.decisions.>"])
    )
    await client.close()


async def read(url: str, count: int) -> list[tuple[str, str]]:
    """Subject and id of the messages in the stream, once a number is there."""
    client = await nats.connect(url)
    stream = client.jetstream()
    until = time.monotonic() + 30
    while (await stream.stream_info("DECISIONS")).state.messages < count:
        assert time.monotonic() < until, "messages are missing"
        await asyncio.sleep(0.05)
    subscription = await stream.subscribe("shop.decisions.>", ordered_consumer=True)
    found = []
    for _ in range(count):
        message = await subscription.next_msg(timeout=10)
        body = orjson.loads(message.data)
        assert message.headers == {"Nats-Msg-Id": body["id"]}
        found.append((message.subject, body["id"]))
    await client.close()
    return found


def test_a_stream_has_each_decision_once_though_its_server_was_away(tmp_path: Path) -> None:
    """Without a stream and without a server decisions wait; the stream drops repetitions."""
    port = free_port()
    url = f"nats://127.0.0.1:{port}"
    settings = {"publish_url": url, "publish_subject": "shop.decisions"}
    broker = begin(tmp_path / "broker", port)
    try:
        with deciding(tmp_path / "data", **settings) as service:
            shop = service.tenant()
            made = [shop.decide("/")["decision_id"] for _ in range(10)]
            failures = "tidegate_publish_failures_total 0.0"
            wait_until(lambda: failures not in service.http.get("/metrics").text)
            asyncio.run(add_stream(url))
            subject = f"shop.decisions.{shop.tenant_id}"
            assert asyncio.run(read(url, 10)) == [(subject, each) for each in made]
            broker.terminate()
            broker.wait()
            made += [shop.decide("/")["decision_id"] for _ in range(10)]
            broker = begin(tmp_path / "broker", port)
            assert asyncio.run(read(url, 20)) == [(subject, each) for each in made]
    finally:
        broker.terminate()
        broker.wait()
