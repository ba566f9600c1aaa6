"""Send messages of alerts: to webhooks on the public internet, and by the service's mail server."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import attrs

from tidegate_server.alerts import messages
from tidegate_server.publishing.base import ANSWER_SECONDS, NotTakenError
from tidegate_server.publishing.webhook import signed
from tidegate_server.wire.common import time_text

if TYPE_CHECKING:
    from tidegate.fetching import Fetcher
    from tidegate.values import Network
    from tidegate_server.operators.keys import Keys
    from tidegate_server.stores.alerts.alerts import AlertMessage

_MAX_ANSWER = 64 * 1024
SECOND_NS = 1_000_000_000
_PORTS = {"smtp": 587, "smtps": 465}


@attrs.frozen
class MailServer:
    """The mail server that takes messages.

    Attributes:
        is_wrapped: whether TLS begins with the connection; else STARTTLS follows, except on
            loopback.
    """

    host: str
    port: int
    is_wrapped: bool
    user: str = ""
    password: str = attrs.field(default="", repr=False)
    sender: str = ""

    def send(self, message: AlertMessage) -> None:
        """Send a message; blocks.

        Raises:
            NotTakenError: the server doesn't take it.
        """
        recipient = message.destination["to"]
        try:
            made = messages.email(
                message.body, message.message_id, self.sender, recipient, message.created_at_ns
            )
            with self._connected() as server:
                if self.user:
                    server.login(self.user, self.password)
                server.send_message(made)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise NotTakenError(f"the mail server refuses: {_reason(error)}") from None

    def _connected(self) -> smtplib.SMTP:
        tls = ssl.create_default_context()
        if self.is_wrapped:
            return smtplib.SMTP_SSL(self.host, self.port, timeout=ANSWER_SECONDS, context=tls)
        server = smtplib.SMTP(self.host, self.port, timeout=ANSWER_SECONDS)
        if self.host not in ("localhost", "127.0.0.1", "::1"):
            server.starttls(context=tls)
        return server


def mail_server(url: str, sender: str) -> MailServer | None:
    """Return the mail server of the settings; None if there isn't one.

    Args:
        url: ``smtp://`` or ``smtps://``, with user and password if the server wants them.
        sender: the address that messages are from.

    Raises:
        ValueError: it can't be used; the message says why.
    """
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("it must be an smtp:// or smtps:// address")
    if "@" not in sender:
        raise ValueError("mail needs a sender: set `alerts.mail_from`")
    return MailServer(
        host=parts.hostname,
        port=parts.port or _PORTS[parts.scheme],
        is_wrapped=parts.scheme == "smtps",
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        sender=sender,
    )


class Sender:
    """Sends one message at a time to its receiver.

    Args:
        keys: derive the keys that sign messages to webhooks.
        clock: nanoseconds since 1970.
        mail: the mail server; None without one.
        allowed: networks that may be connected to although they aren't public.
        tls: the certificates to trust; the system's by default.
    """

    def __init__(
        self,
        keys: Keys,
        clock: Callable[[], int],
        mail: MailServer | None = None,
        allowed: Collection[Network] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self._keys = keys
        self._clock = clock
        self._mail = mail
        self._allowed = allowed

    @cached_property
    def _fetcher(self) -> Fetcher:
        # The HTTP library takes a while to import, which a service without alerts saves.
        from tidegate.fetching import Fetcher

        return Fetcher(
            max_bytes=_MAX_ANSWER, allowed=self._allowed, tls=self._tls, seconds=ANSWER_SECONDS
        )

    async def send(self, message: AlertMessage) -> None:
        """Return when the receiver has taken a message.

        Raises:
            NotTakenError: it may not have.
        """
        kind = message.destination["kind"]
        if kind != "email":
            await self._post(message, kind)
        elif self._mail is None:
            raise NotTakenError("the service has no mail server; set `alerts.smtp_url`")
        else:
            await asyncio.to_thread(self._mail.send, message)

    async def _post(self, message: AlertMessage, kind: str) -> None:
        from tidegate.fetching import FetchError

        url, headers = message.destination["to"], {"content-type": "application/json"}
        if kind == "webhook":
            content = messages.webhook(message.body, time_text(message.created_at_ns))
            key = self._keys.alerts_of(message.tenant_id, url)
            seconds = self._clock() // SECOND_NS
            headers |= signed(key, f"msg_{message.message_id}", seconds, content)
        else:
            content = {"slack": messages.slack, "teams": messages.teams}[kind](message.body)
        try:
            status = await self._fetcher.post(url, content, headers)
        except FetchError as error:
            raise NotTakenError(error.detail) from None
        if not 200 <= status < 300:
            raise NotTakenError(f"the receiver answers {status}")


def _reason(error: Exception) -> str:
    """Return why, without what a server says, which may repeat the message."""
    code = getattr(error, "smtp_code", None)
    return type(error).__name__ if code is None else f"{type(error).__name__} {code}"
