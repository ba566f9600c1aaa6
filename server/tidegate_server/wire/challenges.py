"""Challenges, proofs and passes."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.http.cursor import Paging
from tidegate_server.wire.common import Time


@attrs.frozen(kw_only=True)
class ChallengeQuery:
    again: Annotated[bool, Meta(description="the visitor starts it, also after many rounds")] = (
        False
    )
    ticket: Annotated[
        str, Meta(max_length=6_000, description="of the address that a daemon gave the visitor")
    ] = ""


@attrs.frozen(kw_only=True)
class ChallengeSolution:
    """The data that a page sends, without the provider's name: the issued one counts."""

    method: Annotated[
        Literal["solve", "wait"],
        Meta(description="`wait` is the timed way, which a tenant may allow"),
    ] = "solve"
    solution: Annotated[
        str, Meta(max_length=4_096, description="of the widget; not needed for `wait`")
    ] = ""


@attrs.frozen(kw_only=True)
class ChallengePassed:
    """An answer for callers other than browsers; the address is also in ``Location``."""

    proof: str
    redirect_url: Annotated[str | None, Meta(description="null if the tenant has no return URL")]


@attrs.frozen(kw_only=True)
class ProofCheck:
    token: Annotated[str, Meta(description="the proof")]


@attrs.frozen(kw_only=True)
class ProofVerdict:
    valid: bool


@attrs.frozen(kw_only=True)
class PassesQuery(Paging):
    alive: Annotated[bool, Meta(description="only those that have not expired")] = False


@attrs.frozen(kw_only=True)
class Pass:
    """The right that a solved challenge gives. The proof itself isn't stored."""

    tenant_id: UUID
    pass_id: UUID
    challenge_id: Annotated[UUID, Meta(description="also the id of the decision")]
    provider: Annotated[str, Meta(description="how it was solved; `wait` for the timed way")]
    status: Literal["alive", "expired", "revoked"]
    issued_at: Time
    expires_at: Time


@attrs.frozen(kw_only=True)
class ProviderResults:
    """Outcomes of the challenges of one provider."""

    provider: str
    issued: int
    solved: int
    failed: Annotated[int, Meta(description="solutions that were wrong")]
    looped: Annotated[int, Meta(description="of visitors who had seen too many")]
    seconds_to_solve: Annotated[float | None, Meta(description="on average")]


@attrs.frozen(kw_only=True)
class ChallengeResults:
    tenant_id: UUID
    providers: tuple[ProviderResults, ...]
    passes_alive: Annotated[int, Meta(description="that have not expired")]


@attrs.frozen(kw_only=True)
class ProviderTest:
    provider: str
    status: Literal["green", "red"]
    reasons: tuple[str, ...]
    mitigations: Annotated[
        tuple[str, ...], Meta(description="names of the enabled mitigations that use it")
    ]


@attrs.frozen(kw_only=True)
class SelfTest:
    """Whether challenged visitors can get through."""

    tenant_id: UUID
    status: Literal["green", "red"]
    public_url: str
    reasons: tuple[str, ...]
    warnings: Annotated[
        tuple[str, ...],
        Meta(description="challenges that some visitors pass without being sent back"),
    ]
    providers: tuple[ProviderTest, ...]
