"""The forms in which receivers get messages."""

from __future__ import annotations

import asyncio
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from ipaddress import ip_interface
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import orjson
import pytest
from tests.publisher import publishing

from tidegate_server.alerts.messages import message_body, words
from tidegate_server.alerts.rule import KINDS, Condition
from tidegate_server.alerts.sending import MailServer, Sender, mail_server
from tidegate_server.operators.keys import Keys
from tidegate_server.publishing.base import NotTakenError
from tidegate_server.stores.alerts.alerts import AlertMessage
from tidegate_server.stores.objects.tenants import Tenant

TENANT = Tenant(
    tenant_id=UUID(int=7),
    name="Shop <one>",
    slug="shop",
    settings={},
    created_at_ns=0,
    updated_at_ns=0,
)
FIRING = {
    "alert_id": str(UUID(int=1)),
    "name": "Blocks & more",
    "state": "firing",
    "condition": "412 blocks in 2 minutes, above 100 and 4 times the usual 25",
    "since": "2026-11-02T09:15:00.000Z",
    "unannounced": 2,
}
RESOLVED = {**FIRING, "name": "Errors", "state": "resolved", "unannounced": 0}
LINK = (
    "https://waf.test/console/shop#from=2026-11-02T08%3A45%3A00.000Z"
    "&to=2026-11-02T09%3A20%3A00.000Z"
)
AT_NS = 1_793_611_200_000_000_000
"""2026-11-02T09:20:00Z."""
KEYS = Keys(**{each.name: bytes(32) for each in attrs.fields(Keys)})


def message(kind: str, to: str) -> AlertMessage:
    """A message about two alerts."""
    return AlertMessage(
        message_id=UUID(int=9),
        tenant_id=TENANT.tenant_id,
        destination={"kind": kind, "to": to},
        body=message_body(TENANT, [FIRING, RESOLVED], "https://waf.test", AT_NS),
        created_at_ns=AT_NS,
        next_at_ns=0,
    )


def posted(folder: Path, kind: str) -> Any:
    """The document that a receiver gets."""
    with publishing(folder) as receiver:
        allowed = [ip_interface("127.0.0.1/32")]
        sender = Sender(KEYS, lambda: AT_NS, None, allowed, receiver.tls)
        asyncio.run(sender.send(message(kind, receiver.url("/", "127.0.0.1"))))
        (found,) = receiver.taken
    return orjson.loads(found.body)


def test_slack_gets_a_text(tmp_path: Path) -> None:
    """Characters that Slack reads as markup are escaped, and the link leads to the time."""
    assert posted(tmp_path, "slack") == {
        "text": (
            "*[Shop &lt;one&gt;] Blocks &amp; more and 1 more: firing*\n"
            "Blocks &amp; more fires since 2026-11-02T09:15:00.000Z: 412 blocks in 2 minutes, above"
            " 100 and 4 times the usual 25. It also fired 2 times in the quiet time before.\n"
            "Errors is resolved. It fired since 2026-11-02T09:15:00.000Z: 412 blocks in 2 minutes,"
            " above 100 and 4 times the usual 25.\n"
            f"<{LINK.replace('&', '&amp;')}|Open the console>"
        )
    }


def test_teams_gets_an_adaptive_card(tmp_path: Path) -> None:
    """A card has a heading, a text for each alert, and a button with the link."""
    (attachment,) = posted(tmp_path, "teams")["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert card["body"][0]["text"] == ("[Shop <one>] Blocks & more and 1 more: firing")
    assert len(card["body"]) == 3
    assert card["actions"][0]["url"] == LINK


@attrs.define
class Mailbox:
    """A mail server on loopback.

    Attributes:
        refuses: whether it takes no recipient.
    """

    port: int = 0
    refuses: bool = False
    mails: list[bytes] = attrs.field(factory=list)


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """A mail server, until the block ends."""
    made = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say("220 mail.test")
            while line := self.rfile.readline(1_000):
                verb = line[:4].upper()
                if verb == b"DATA":
                    self.say("354 go on")
                    parts = iter(lambda: self.rfile.readline(1_000), b".\r\n")
                    made.mails.append(b"".join(parts))
                if verb == b"RCPT" and made.refuses:
                    self.say("550 no such user")
                else:
                    self.say("221 bye" if verb == b"QUIT" else "250 ok")

        def say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_mailbox_gets_a_mail() -> None:
    """It has a subject, the sender of the settings, an id for repetitions, and the link."""
    with mailbox() as box:
        mail = mail_server(f"smtp://127.0.0.1:{box.port}", "waf@example.com")
        sender = Sender(KEYS, lambda: AT_NS, mail)
        asyncio.run(sender.send(message("email", "ops@example.com")))
    found = message_from_bytes(box.mails[0], policy=policy.default)
    assert found["Subject"] == "[Shop <one>] Blocks & more and 1 more: firing"
    assert (found["From"], found["To"]) == ("waf@example.com", "ops@example.com")
    assert found["Message-ID"] == f"<{UUID(int=9)}@example.com>"
    assert LINK in found.get_content()


def test_a_mail_server_that_refuses_is_asked_again() -> None:
    """The reason has the server's code, and not its text."""
    with mailbox() as box:
        box.refuses = True
        mail = mail_server(f"smtp://127.0.0.1:{box.port}", "waf@example.com")
        sender = Sender(KEYS, lambda: AT_NS, mail)
        with pytest.raises(NotTakenError, match=r"^the mail server refuses: \w+$"):
            asyncio.run(sender.send(message("email", "ops@example.com")))
        assert box.mails == []


def test_a_mail_server_of_the_settings_has_a_port_and_a_user() -> None:
    """Ports are those of submission unless the address has one, and parts are decoded."""
    assert mail_server("smtps://me:a%40b@mail.test", "waf@example.com") == MailServer(
        "mail.test", 465, True, "me", "a@b", "waf@example.com"
    )
    assert mail_server("", "") is None
    for url, sender in (("http://mail.test", "a@b"), ("smtp://", "a@b"), ("smtp://mail.test", "")):
        with pytest.raises(ValueError, match=r"must be|needs a sender"):
            mail_server(url, sender)


def test_a_condition_is_said_in_words() -> None:
    """A value has its unit, and what it is compared with."""
    share = KINDS["solve_share"].default
    assert words(share, 12.345, 84.0) == (
        "12.3 % of challenges solved in 2 minutes, below 70 % and 0.7 times the usual 84 %"
    )
    lag = Condition(metric="publishing_lag", comparison="above", threshold=50)
    assert words(lag, 61.0, None) == (
        "the oldest unpublished decision has waited for 61 s, above 50 s"
    )
