"""Decisions at a webhook that fails, is slow, and forgets."""

from __future__ import annotations

import os
import signal
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
import standardwebhooks
from tests.server.deciding import deciding
from tests.waiting import wait_until

from tidegate_server.publishing.destinations import destination_of
from tidegate_server.publishing.webhook import key_of

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@attrs.define
class Receiver:
    """A webhook that checks signatures, and answers what it is given, then 204."""

    answers: list[int]
    batches: list[list[dict[str, Any]]] = attrs.field(factory=list)
    attempts: list[tuple[str, bytes]] = attrs.field(factory=list)
    """Id and body of everything that came."""
    url: str = ""

    def taken(self) -> list[str]:
        """The ids of what it took, without repetitions."""
        return list(dict.fromkeys(each["id"] for batch in self.batches for each in batch))


@contextmanager
def receiving(*answers: int) -> Iterator[Receiver]:
    """A receiver on a socket."""
    receiver = Receiver(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = receiver.answers.pop(0) if receiver.answers else 204
            receiver.attempts.append((self.headers["webhook-id"], body))
            try:
                standardwebhooks.Webhook(SECRET).verify(body, dict(self.headers), json_parse=False)
            except standardwebhooks.WebhookVerificationError:
                status = 401
            if status in (200, 204, 599):
                receiver.batches.append([orjson.loads(line) for line in body.splitlines()])
            # 599: it took the batch, and its answer is lost.
            if status != 599:
                self.send_response(status)
                if status == 302:
                    self.send_header("location", "http://127.0.0.1:9/")
                self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/decisions"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_batches_are_signed_and_sent_again_until_they_are_taken(
    tmp_path: Path, process: None
) -> None:
    """A refusal, a redirect and a lost answer repeat a batch; consumers drop ids they have seen."""
    with (
        receiving(500, 302, 599, 200) as receiver,
        deciding(tmp_path, publish_url=receiver.url, publish_secret=SECRET) as service,
    ):
        shop = service.tenant()
        made = [shop.decide("/")["decision_id"] for _ in range(30)]
        published = "tidegate_published_total 30.0"
        wait_until(lambda: published in service.http.get("/metrics").text)
        assert receiver.taken() == made
        assert sum(map(len, receiver.batches)) > 30
        assert "tidegate_publish_failures_total 3.0" in service.http.get("/metrics").text
        assert receiver.attempts[:4] == [receiver.attempts[0]] * 4


def test_a_batch_is_the_same_after_a_restart(tmp_path: Path, process: None) -> None:
    """A batch that was not taken is sent again under its id, whatever was decided meanwhile."""
    with receiving(500, 500) as receiver:
        settings = {"publish_url": receiver.url, "publish_secret": SECRET}
        with deciding(tmp_path, **settings) as service:
            shop = service.tenant()
            made = [shop.decide("/")["decision_id"]]
            wait_until(lambda: len(receiver.attempts) == 1)
            made += [shop.decide("/")["decision_id"] for _ in range(3)]
            os.kill(service.process.pid, signal.SIGKILL)
        with deciding(tmp_path, **settings):
            wait_until(lambda: receiver.taken() == made)
        assert receiver.attempts[0] == receiver.attempts[1]
        assert len(receiver.batches[0]) < len(made)


@pytest.mark.parametrize("size", [1, 24, 32, 64])
def test_a_secret_of_standard_webhooks_is_decoded(size: int) -> None:
    """The key is encoded behind `whsec_`, with or without `=`; any other text is a key itself."""
    key = bytes(range(size))
    written = "whsec_" + b64encode(key).decode()
    assert key_of(written) == key_of(written.rstrip("=")) == key
    assert key_of("of the webhook") == b"of the webhook"


def test_a_service_that_cannot_reach_its_webhook_answers_as_before(
    tmp_path: Path, process: None
) -> None:
    """The log is the outbox: decisions wait there, and none is refused."""
    with receiving() as receiver:
        address = receiver.url
    with deciding(tmp_path, publish_url=address, publish_secret=SECRET) as service:
        shop = service.tenant()
        assert {shop.decide("/")["action"]["type"] for _ in range(20)} == {"allow"}
        assert "tidegate_publish_waiting 20.0" in service.http.get("/metrics").text


@pytest.mark.parametrize(
    ("url", "secret", "reason"),
    [
        ("http://192.0.2.1/x", "s", "use https"),
        ("https://192.0.2.1/x", "", "`publish.secret`"),
        ("https://192.0.2.1/x", "whsec_", "base64"),
        ("https://192.0.2.1/x", "whsec_not base64", "base64"),
        ("ftp://192.0.2.1/x", "s", "can go to"),
        ("decisions.jsonl", "", "can go to"),
        ("file://host/path", "", "can go to"),
        ("nats://", "", "can go to"),
    ],
)
def test_a_destination_that_cannot_be_used_is_refused(url: str, secret: str, reason: str) -> None:
    """The reason says what would do, before anything is started."""
    with pytest.raises(ValueError, match=reason):
        destination_of(url, secret, "decisions", lambda: 0)
