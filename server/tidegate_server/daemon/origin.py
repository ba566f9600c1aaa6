"""The service that a daemon follows; everything it sends is verified before use."""

from __future__ import annotations

import asyncio
import time
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import attrs
import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tidegate.client.errors import ClientError
from tidegate.client.transport import Transport
from tidegate.errors import TidegateError
from tidegate_server.sync import messages

if TYPE_CHECKING:
    from tidegate.client.answer import Answer

MAX_SENT_BYTES = 64 * 1024 * 1024
CALL_SECONDS = 30.0
_PREFIX = "/api/v1/sync"
_GZIP = 16 + zlib.MAX_WBITS
_SNAPSHOT = msgspec.json.Decoder(messages.Snapshot)
_CHANGES = msgspec.json.Decoder(messages.Changes)
_Message = TypeVar("_Message", messages.Snapshot, messages.Changes)


class OriginError(TidegateError):
    """The service is unreachable, rejects a call, or sent something untrustworthy.

    Attributes:
        status: status of its response; 0 if there isn't one.
        retry_after: seconds it asks to wait.
    """

    code = "origin-unavailable"

    def __init__(self, message: str, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class UntrustedError(OriginError):
    """A response is truncated, out of order, another tenant's, or has a bad hash or signature."""

    code = "untrusted-answer"


@attrs.define
class Origin:
    """Calls to the sync routes.

    Args:
        transport: transport to the service.
        tenant_id: the tenant whose changes are followed.
        public_key: the service's public key in hexadecimal; empty to accept the first one.
    """

    transport: Transport
    tenant_id: UUID
    public_key: str = ""

    async def snapshot(self) -> messages.Snapshot:
        """Fetch everything needed to decide.

        Raises:
            OriginError: it can't be fetched, or can't be trusted.
        """
        answer = await self._get("/snapshot", CALL_SECONDS * 4)
        key = self.public_key or _peek_key(answer)
        found = _checked(answer, _SNAPSHOT, key)
        if found.version != messages.VERSION:
            raise UntrustedError("the snapshot is of another version")
        if found.tenant_id != self.tenant_id:
            raise UntrustedError(
                f"the API key is of the tenant {found.tenant_id}, not {self.tenant_id}"
            )
        if found.public_key != key:
            raise UntrustedError("the snapshot names another key than the one it is signed with")
        self.public_key = key
        return found

    async def changes(self, after: int, chain: str, wait: int) -> messages.Changes:
        """Fetch the changes after a number.

        Args:
            after: the number.
            chain: the hash after it, in hexadecimal.
            wait: seconds that the service may wait for a change.

        Raises:
            OriginError: they are no longer known (status 410), or can't be trusted.
        """
        answer = await self._get(f"/changes?after={after}&wait={wait}", CALL_SECONDS + wait)
        found = _checked(answer, _CHANGES, self.public_key)
        if found.tenant_id != self.tenant_id or found.version != messages.VERSION:
            raise UntrustedError("the changes are of another tenant or version")
        if found.after != after or found.previous_hash != chain:
            raise UntrustedError("the changes do not follow what is known")
        made = bytes.fromhex(chain)
        for item in found.items:
            made = messages.chained(made, bytes(item))
        if made.hex() != found.hash or found.sequence < after:
            raise UntrustedError("the changes do not have the hash that they claim")
        return found

    async def acknowledge(self, said: messages.Ack) -> None:
        """Report the data that this daemon has.

        Raises:
            OriginError: the report was not accepted.
        """
        await self._post("/ack", msgspec.json.encode(said), {})

    async def forward(self, body: bytes) -> bytes:
        """Forward decisions, packed with gzip; return the response.

        Raises:
            OriginError: they were not accepted.
        """
        return await self._post("/events", body, {"content-encoding": "gzip"})

    async def _get(self, path: str, seconds: float) -> Answer:
        return await self._send("GET", path, {"accept-encoding": "gzip"}, b"", seconds)

    async def _post(self, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        given = {"content-type": "application/json", **headers}
        return (await self._send("POST", path, given, body, CALL_SECONDS)).body

    async def _send(
        self, method: str, path: str, headers: dict[str, str], body: bytes, seconds: float
    ) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                answer = await self.transport.send(
                    method, _PREFIX + path, headers, body, MAX_SENT_BYTES
                )
        except TimeoutError:
            raise OriginError(f"no answer in {seconds:.0f} s") from None
        except ClientError as error:
            raise OriginError(str(error)) from None
        if answer.status != 200:
            raise OriginError(_reason(answer), answer.status, _retry_after(answer))
        return answer


def _checked(answer: Answer, decoder: msgspec.json.Decoder[_Message], key: str) -> _Message:
    body = _unpacked(answer)
    try:
        signature = b64decode(answer.headers.get(messages.SIGNATURE, ""), validate=True)
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(signature, messages.signed(body))
        found = decoder.decode(body)
    except InvalidSignature:
        raise UntrustedError("the signature of the answer is wrong") from None
    except (ValueError, msgspec.DecodeError) as error:
        raise UntrustedError(f"the answer cannot be read: {error}") from None
    if not found.end or found.created_at > time.time_ns() + 10**9 * 86_400:
        raise UntrustedError("the answer has no end, or comes from the future")
    return found


def _peek_key(answer: Answer) -> str:
    try:
        return _SNAPSHOT.decode(_unpacked(answer)).public_key
    except (ValueError, msgspec.DecodeError) as error:
        raise UntrustedError(f"the answer cannot be read: {error}") from None


def _unpacked(answer: Answer) -> bytes:
    if answer.headers.get("content-encoding") != "gzip":
        return answer.body
    unpacking = zlib.decompressobj(_GZIP)
    try:
        body = unpacking.decompress(answer.body, messages.MAX_SNAPSHOT_BYTES)
    except zlib.error:
        raise UntrustedError("the answer is not packed as it says") from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise UntrustedError("the answer is cut short, or too large")
    return body


def _reason(answer: Answer) -> str:
    try:
        problem = msgspec.json.decode(answer.body)
        return f"{answer.status} {problem['code']}: {problem['detail']}"[:300]
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"the service answered {answer.status}"


def _retry_after(answer: Answer) -> float:
    text = answer.headers.get("retry-after", "")
    return min(float(text), 60.0) if text.isascii() and text.isdecimal() else 0.0
