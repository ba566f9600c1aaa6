"""The challenge proofs presented in an event (docs/decision.md, "Proofs of challenges")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

import attrs
import orjson

from tidegate.policy.state.passes import Move, Revoke

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.policy.proofs import Finding, ProofKeys
    from tidegate.policy.state.passes import Passes

PROOF_COOKIE = "service_challenge"
"""The cookie that carries a challenge proof."""
PLACES = (
    ("request.query_params", "service_challenge_proof"),
    ("request.cookies", PROOF_COOKIE),
)
"""The places of proofs, in reading order."""
MAX_OF_A_PLACE = 2
"""Most proofs per text that are read, so that no visitor can cause many verifications."""
FIELDS = frozenset({*(name for name, _ in PLACES), "request.client_ip", "request.user_agent"})
"""The event fields that a proof is read from and bound to."""

ProofStatus: TypeAlias = Literal[
    "valid", "expired", "invalid", "foreign", "other-client", "revoked"
]
Part: TypeAlias = Literal["network", "agent"]


@attrs.frozen
class Claim:
    """The claim of a verified proof, and the client that presents it.

    Args:
        pass_id: id of the pass.
        expires_at: when it expires, in nanoseconds since 1970.
        network: the network it is presented from.
        differs: how the client differs from the one that solved the challenge.
    """

    pass_id: UUID
    expires_at: int
    network: str | None
    differs: tuple[Part, ...]


@attrs.frozen
class ShownProof:
    """A proof presented in an event.

    Args:
        status: its status.
        claim: present if the token is verified and valid at the time.
    """

    status: ProofStatus
    claim: Claim | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> ShownProof:
        """The proof in a decision's record."""
        if "pass_id" not in record:
            return cls(record["status"])
        claim = Claim(
            UUID(record["pass_id"]),
            int(record["expires_at"]),
            record["network"],
            tuple(record["differs"]),
        )
        return cls(record["status"], claim)

    def to_record(self) -> dict[str, Any]:
        """The proof as JSON data."""
        if self.claim is None:
            return {"status": self.status}
        return {
            "status": self.status,
            "pass_id": str(self.claim.pass_id),
            "expires_at": str(self.claim.expires_at),
            "network": self.claim.network,
            "differs": list(self.claim.differs),
        }

    def as_read(self) -> ShownProof:
        """The proof without facts from the state, which another state must add."""
        if self.claim is None:
            return self
        is_other = "agent" in self.claim.differs
        return attrs.evolve(self, status="other-client" if is_other else "valid")

    def settled(self, passes: Passes) -> ShownProof:
        """The proof combined with its pass's state; one that is no longer valid stays unchanged."""
        known = None if self.claim is None else passes.get(self.claim.pass_id)
        if self.status != "valid" or self.claim is None or known is None:
            return self
        if known.is_revoked:
            return attrs.evolve(self, status="revoked")
        is_elsewhere = "network" in self.claim.differs and known.moved_to not in (
            (),
            (self.claim.network,),
        )
        return attrs.evolve(self, status="other-client") if is_elsewhere else self

    def changes(self, passes: Passes, at: int, *, blocks: bool) -> tuple[Move | Revoke, ...]:
        """The changes to the pass of the proof that counts.

        Args:
            passes: the passes before the event.
            at: when it was received.
            blocks: whether a Block fired.
        """
        if self.status != "valid" or self.claim is None:
            return ()
        about = self.claim.pass_id, at, self.claim.expires_at
        known = passes.get(self.claim.pass_id)
        moves = "network" in self.claim.differs and (known is None or not known.moved_to)
        moved = [Move(*about, self.claim.network)] if moves else []
        return (*moved, *([Revoke(*about)] if blocks else []))


def shown_proofs(keys: ProofKeys, record: Mapping[str, Any], at: int) -> list[ShownProof]:
    """The proofs in an event, read with its tenant's keys.

    Args:
        keys: the tenant's keys.
        record: the event's :data:`FIELDS`.
        at: when it was received, in nanoseconds since 1970.
    """
    texts = [record[name].get(key, "") for name, key in PLACES if name in record]
    tokens = [token for text in texts for token in text.split(", ")[:MAX_OF_A_PLACE]]
    return [_shown(keys, keys.read(token, at), record) for token in tokens if token]


def counting(proofs: Sequence[ShownProof], passes: Passes) -> ShownProof | None:
    """The proof that counts, combined with the state: the first valid one, else the first."""
    settled = [proof.settled(passes) for proof in proofs]
    return next((proof for proof in settled if proof.status == "valid"), next(iter(settled), None))


def _shown(keys: ProofKeys, finding: Finding, record: Mapping[str, Any]) -> ShownProof:
    if finding.status != "valid" or finding.client is None:
        return ShownProof(finding.status)
    assert finding.pass_id is not None
    assert finding.expires_at is not None
    client = keys.client(record.get("request.client_ip"), record.get("request.user_agent"))
    differs: list[Part] = []
    if client.network != finding.client.network:
        differs.append("network")
    if client.agent != finding.client.agent:
        differs.append("agent")
    claim = Claim(finding.pass_id, finding.expires_at, client.network, tuple(differs))
    return ShownProof("valid", claim).as_read()


def to_records(proofs: Sequence[ShownProof] | None) -> bytes | None:
    """Proofs in the format of a backend."""
    return None if proofs is None else orjson.dumps([each.to_record() for each in proofs])
