"""A webhook; the publisher's only module that uses the HTTP library."""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import httpx2

from tidegate_server.publishing.base import ANSWER_SECONDS, NotTakenError

if TYPE_CHECKING:
    from tidegate_server.publishing.messages import Message

_PREFIX = "whsec_"


def key_of(secret: str) -> bytes:
    """Return the key in a secret: decoded from behind ``whsec_``, or else the text itself.

    Raises:
        ValueError: the part after ``whsec_`` isn't base64, or is empty.
    """
    if not secret.startswith(_PREFIX):
        return secret.encode()
    encoded = secret.removeprefix(_PREFIX).rstrip("=")
    try:
        key = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        key = b""
    if not key:
        raise ValueError("behind `whsec_` a secret is base64")
    return key


def secret_of(key: bytes) -> str:
    """Return the text of a key, as Standard Webhooks writes secrets."""
    return _PREFIX + b64encode(key).decode()


def signed(secret: bytes, message_id: str, seconds: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message, signed according to Standard Webhooks.

    The signature is an HMAC of SHA-256 over id, time and body
    (https://github.com/standard-webhooks/standard-webhooks).

    Args:
        secret: the key; see :func:`key_of`.
        message_id: the same for each attempt to send the message.
        seconds: the time of the attempt, since 1970.
        body: the message.
    """
    content = b".".join((message_id.encode(), str(seconds).encode(), body))
    signature = b64encode(hmac.digest(secret, content, sha256)).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": f"v1,{signature}",
    }


class Webhook:
    """Posts batches of JSON lines, signed according to Standard Webhooks.

    Redirects are not followed.

    Args:
        url: the receiver's URL.
        secret: the signature's key; see :func:`key_of`.
        clock: seconds since 1970.
    """

    def __init__(self, url: str, secret: bytes, clock: Callable[[], int]) -> None:
        self._url = url
        self._secret = secret
        self._clock = clock
        self._http = httpx2.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False)

    async def send(self, messages: Sequence[Message]) -> None:
        """See :meth:`Destination.send`; on return, the answer was 2xx."""
        body = b"".join(each.body + b"\n" for each in messages)
        batch = f"{messages[0].seq}-{messages[-1].seq}"
        headers = {
            "content-type": "application/x-ndjson",
            **signed(self._secret, batch, self._clock(), body),
        }
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                self._http.stream("POST", self._url, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except (TimeoutError, httpx2.HTTPError) as error:
            raise NotTakenError(f"the webhook does not answer: {type(error).__name__}") from error
        if not 200 <= status < 300:
            raise NotTakenError(f"the webhook answers {status}")

    async def close(self) -> None:
        """See :meth:`Destination.close`."""
        await self._http.aclose()
