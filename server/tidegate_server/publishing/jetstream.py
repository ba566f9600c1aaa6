"""A stream of NATS JetStream; the only module that knows its library, which is an extra."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate_server.publishing.base import ANSWER_SECONDS, NotTakenError

if TYPE_CHECKING:
    from types import ModuleType

    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from tidegate_server.publishing.messages import Message


class JetStream:
    """NATS subjects, one per tenant, that a JetStream stream consumes.

    The id of a message is in `Nats-Msg-Id`, which the stream uses to drop repetitions.

    Args:
        url: of the server, with user and password if it needs them.
        subject: the subject before the tenant's id.

    Raises:
        ValueError: the library is not installed.
    """

    def __init__(self, url: str, subject: str) -> None:
        self._url = url
        self._subject = subject
        self._nats = _nats()
        self._client: Client | None = None

    async def send(self, messages: Sequence[Message]) -> None:
        """See :meth:`Destination.send`; on return, the stream has acknowledged each message."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                stream = await self._stream()
                for each in messages:
                    await stream.publish(
                        f"{self._subject}.{each.tenant_id}",
                        each.body,
                        headers={"Nats-Msg-Id": str(each.message_id)},
                    )
        except self._nats.js.errors.NoStreamResponseError as error:
            reason = f"no stream of JetStream listens to `{self._subject}.>`"
            raise NotTakenError(reason) from error
        except (TimeoutError, OSError, self._nats.errors.Error) as error:
            await self.close()
            reason = f"the stream does not acknowledge: {type(error).__name__}"
            raise NotTakenError(reason) from error

    async def _stream(self) -> JetStreamContext:
        if self._client is None:
            self._client = await self._nats.connect(
                self._url, allow_reconnect=False, connect_timeout=ANSWER_SECONDS, name="tidegate"
            )
        return self._client.jetstream(timeout=ANSWER_SECONDS)

    async def close(self) -> None:
        """See :meth:`Destination.close`."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()


def _nats() -> ModuleType:
    try:
        import nats
        import nats.js.errors
    except ImportError:
        reason = "NATS needs the extra `nats`: pip install 'tidegate[nats]'"
        raise ValueError(reason) from None
    return nats
