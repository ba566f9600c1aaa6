"""Challenge proofs: tokens of solved challenges, and sealed contexts of open ones.

This is the definition; ``rust/proof`` does the same natively and must match it.  The token's format
and its reasons are in docs/decision.md, "Proofs of challenges", and docs/decisions.
"""

from __future__ import annotations

import hmac
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Literal, TypeAlias
from uuid import UUID

import attrs

from tidegate.limits import CLOCK_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    from tidegate.evaluation.native import NativeProofKeys

VERSION = b"\x01"
"""First byte of each token and of each sealed context."""
MAX_TOKEN_LENGTH = 256
"""Characters; a longer text isn't a token and is not examined."""
AGENT_BYTES = 16
"""Bytes of a user agent's hash."""
READ_AGENT_BYTES = 1_024
"""Bytes of a user agent that count."""

_TAG_BYTES = 32
_KEY_LABELS = {
    "proof": b"tidegate challenge proof v1\0",
    "agent": b"tidegate challenge agent v1\0",
    "seal": b"tidegate challenge seal v1\0",
    "ticket": b"tidegate challenge ticket v1\0",
}
_LENGTH = struct.Struct(">H")
_TIME = struct.Struct(">q")
_NONCE = bytes(12)
"""Each key seals one message, so no nonce is used twice."""

Status: TypeAlias = Literal["valid", "expired", "invalid", "foreign"]
"""The status of a token: ``invalid`` isn't a token of this version, or was tampered with;
``foreign`` names another tenant."""


@attrs.frozen
class Client:
    """The client that solved a challenge, as far as the proof is bound to it.

    Args:
        network: the address's /24 or /48, as text; None if there isn't one.
        agent: 16 bytes, the keyed hash of the user agent.
    """

    network: str | None
    agent: bytes = attrs.field(repr=False)


@attrs.frozen
class Finding:
    """The result of reading a token; everything but the status is None unless it is valid or
    expired.

    Times are nanoseconds since 1970.
    """

    status: Status
    pass_id: UUID | None = None
    challenge_id: UUID | None = None
    issued_at: int | None = None
    expires_at: int | None = None
    client: Client | None = None


@attrs.frozen
class ChallengeContext:
    """The parts of the request that a challenge needs, and that nobody else may read.

    Args:
        return_url: the exact text, including secrets; None if there isn't one.
        client: the challenged client.
    """

    return_url: str | None = attrs.field(repr=False)
    client: Client


INVALID = Finding("invalid")
FOREIGN = Finding("foreign")


@attrs.frozen
class ProofKeys:
    """Keys for one tenant's proofs.

    Args:
        tenant: the tenant.
        proof_key: the service's key for the purpose ``proofs``, from which the tenant's are
            derived.
        sealing_key: the service's key for the purpose ``sealing``, from which the tenant's are
            derived.
    """

    tenant: UUID
    proof_key: bytes = attrs.field(repr=False)
    sealing_key: bytes = attrs.field(repr=False)

    def native(self) -> NativeProofKeys:
        """The same keys for the Rust evaluator."""
        from tidegate.evaluation.native import NativeProofKeys

        return NativeProofKeys(self.tenant.bytes, self.proof_key, self.sealing_key)

    def client(self, client_ip: str | None, user_agent: str | None) -> Client:
        """The client sending a request.

        Args:
            client_ip: the address as text; None, or an invalid one, for none.
            user_agent: as sent; a missing one is the same as an empty one.
        """
        text = (user_agent or "").encode()[:READ_AGENT_BYTES]
        return Client(network_of(client_ip), _mac(self._key("agent"), text)[:AGENT_BYTES])

    def mint(
        self, pass_id: UUID, challenge_id: UUID, issued_at: int, expires_at: int, client: Client
    ) -> str:
        """The token for a pass.

        Args:
            pass_id: the id for listing and revoking it.
            challenge_id: id of the solved challenge.
            issued_at: nanoseconds since 1970.
            expires_at: nanoseconds since 1970; the token is valid before it.
            client: the client that may present it.
        """
        body = VERSION + _fields(
            self.tenant.bytes,
            pass_id.bytes,
            challenge_id.bytes,
            _TIME.pack(issued_at),
            _TIME.pack(expires_at),
            (client.network or "").encode(),
            client.agent,
        )
        return urlsafe_b64encode(body + _mac(self._key("proof"), body)).rstrip(b"=").decode()

    def read(self, token: str, at: int) -> Finding:
        """The status of a token at a time, for the client that presents it.

        Args:
            token: any text.
            at: nanoseconds since 1970.
        """
        claims = _Claims.of(token)
        if claims is None:
            return INVALID
        if claims.tenant != self.tenant:
            return FOREIGN
        if not hmac.compare_digest(_mac(self._key("proof"), claims.body), claims.tag):
            return INVALID
        is_good = claims.issued_at - CLOCK_TOLERANCE <= at < claims.expires_at
        return Finding(
            "valid" if is_good else "expired",
            claims.pass_id,
            claims.challenge_id,
            claims.issued_at,
            claims.expires_at,
            claims.client,
        )

    def seal(self, decision_id: UUID, context: ChallengeContext) -> bytes:
        """Seal a context that only :meth:`open` reads, and only for the same decision."""
        url = context.return_url
        plain = _fields(
            b"" if url is None else VERSION + url.encode(),
            (context.client.network or "").encode(),
            context.client.agent,
        )
        return VERSION + self._cipher(decision_id).encrypt(_NONCE, plain, VERSION)

    def open(self, decision_id: UUID, sealed: bytes) -> ChallengeContext | None:
        """The sealed context; None if it was not sealed for this decision."""
        from cryptography.exceptions import InvalidTag

        if sealed[:1] != VERSION:
            return None
        try:
            plain = self._cipher(decision_id).decrypt(_NONCE, sealed[1:], VERSION)
            url, network, agent = _split(plain)
            text = url[1:].decode() if url else None
            return ChallengeContext(text, Client(network.decode() or None, agent))
        except (InvalidTag, ValueError):
            return None

    def seal_ticket(self, decision_id: UUID, content: bytes) -> str:
        """Seal a content that only :meth:`open_ticket` reads, and only for the same decision.

        The ticket names the tenant in clear, so that its keys can be found.
        """
        head = VERSION + self.tenant.bytes
        sealed = head + self._cipher(decision_id, "ticket").encrypt(_NONCE, content, head)
        return urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def open_ticket(self, decision_id: UUID, ticket: str) -> bytes | None:
        """The content of a ticket; None if it was not sealed for this decision."""
        from cryptography.exceptions import InvalidTag

        try:
            sealed = urlsafe_b64decode(ticket + "=" * (-len(ticket) % 4))
            head = VERSION + self.tenant.bytes
            if sealed[: len(head)] != head:
                return None
            cipher = self._cipher(decision_id, "ticket")
            return cipher.decrypt(_NONCE, sealed[len(head) :], head)
        except (InvalidTag, ValueError):
            return None

    def _cipher(self, decision_id: UUID, purpose: str = "seal") -> ChaCha20Poly1305:
        # From the extra `server`, which decisions alone don't need.
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        return ChaCha20Poly1305(_mac(self._key(purpose), decision_id.bytes))

    def _key(self, purpose: str) -> bytes:
        """The tenant's key for a purpose."""
        key = self.sealing_key if purpose in ("seal", "ticket") else self.proof_key
        return _mac(key, _KEY_LABELS[purpose] + self.tenant.bytes)


def claimed_tenant(token: str) -> UUID | None:
    """The tenant that a token names, to find the keys; nothing is verified."""
    claims = _Claims.of(token)
    return None if claims is None else claims.tenant


def tenant_of_ticket(ticket: str) -> UUID | None:
    """The tenant that a ticket names; nothing is verified."""
    try:
        head = urlsafe_b64decode(ticket[:24])
    except ValueError:
        return None
    return UUID(bytes=head[1:17]) if len(head) == 18 and head[:1] == VERSION else None


def network_of(client_ip: str | None) -> str | None:
    """The network of an address: its /24 or /48; None without an address."""
    try:
        address = ip_address(client_ip or "")
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return None
        address = address.ipv4_mapped or address
    bits = 24 if address.version == 4 else 48
    return str(ip_network((int(address), address.max_prefixlen)).supernet(new_prefix=bits))


@attrs.frozen
class _Claims:
    """The content of a well-formed token, verified or not."""

    tenant: UUID
    pass_id: UUID
    challenge_id: UUID
    issued_at: int
    expires_at: int
    client: Client
    body: bytes
    tag: bytes

    @classmethod
    def of(cls, token: str) -> _Claims | None:
        """The claims of a token; None if the text doesn't have a token's only valid form."""
        if len(token) > MAX_TOKEN_LENGTH:
            return None
        try:
            content = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            if urlsafe_b64encode(content).rstrip(b"=") != token.encode():
                return None
            body, tag = content[:-_TAG_BYTES], content[-_TAG_BYTES:]
            if body[:1] != VERSION:
                return None
            tenant, pass_id, challenge, issued, expires, network, agent = _split(body[1:])
            from_network = network.decode("ascii")
            is_network = network_of(from_network.partition("/")[0]) == (from_network or None)
            if len(agent) != AGENT_BYTES or not is_network:
                return None
            return cls(
                UUID(bytes=tenant),
                UUID(bytes=pass_id),
                UUID(bytes=challenge),
                _time(issued),
                _time(expires),
                Client(from_network or None, agent),
                body,
                tag,
            )
        except (ValueError, struct.error):
            return None


def _time(field: bytes) -> int:
    time: int = _TIME.unpack(field)[0]
    return time


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _fields(*fields: bytes) -> bytes:
    """Consecutive fields, each after its length."""
    return b"".join(_LENGTH.pack(len(field)) + field for field in fields)


def _split(content: bytes) -> Iterator[bytes]:
    """The fields of :func:`_fields`.

    Raises:
        struct.error: it ends within a length.
        ValueError: it ends within a field.
    """
    while content:
        (length,) = _LENGTH.unpack_from(content)
        field, content = content[2 : 2 + length], content[2 + length :]
        if len(field) != length:
            raise ValueError("a field is cut short")
        yield field
