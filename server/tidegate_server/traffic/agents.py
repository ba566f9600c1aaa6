"""Agents in recorded events, how they proved who they are, and the answers to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EventError
from tidegate.policy.definitions.expressions import Use
from tidegate_server.control.call import Answer, Call
from tidegate_server.records.decisions import passed_over
from tidegate_server.records.kept import Kept
from tidegate_server.traffic.facets import MAX_TEXT, literal_of
from tidegate_server.traffic.preview import SECONDS, Deadline, Preview
from tidegate_server.traffic.selection import TenantExpressions
from tidegate_server.traffic.tally import Tally
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import traffic as wire_traffic

if TYPE_CHECKING:
    from tidegate.policy.traffic.programs import Programs
    from tidegate_server.traffic.preview import Seen

_NAME = "expression"
_IS_AGENT = 'agent.proof != "none" || agent.signature_problem != ""'
_FIELDS = ("claims", "operator", "product", "purpose", "proof", "is_provable", "signature_problem")


@attrs.frozen(order=True)
class _Agent:
    """An agent, with how it proved to be that one.

    Attributes:
        is_provable: only for an agent that proved nothing.
    """

    claims: str
    operator: str
    product: str
    proof: str
    is_provable: bool

    @property
    def imitates(self) -> bool:
        """Whether it uses the name of an agent that could prove to be that one."""
        return self.proof == "name" and self.is_provable

    def expression(self) -> str | None:
        """Return the condition that its events match; None if a value can't be compared with."""
        texts = {"claims": self.claims, "operator": self.operator, "product": self.product}
        if self.proof == "none":
            return 'agent.proof == "none" && agent.signature_problem != ""'
        if self.proof == "name":
            texts = {"claims": self.claims}
        literals = {name: literal_of(text) for name, text in texts.items()}
        if None in literals.values():
            return None
        parts = [f"agent.{name} == {literal}" for name, literal in literals.items()]
        parts.append(f'agent.proof == "{self.proof}"')
        if self.proof == "name":
            parts.append("agent.is_provable" if self.is_provable else "!agent.is_provable")
        return " && ".join(parts)


@attrs.define
class _Counted:
    """The counts of an agent; its purpose is that in its newest event."""

    purpose: str
    events: int = 0
    invalid_signatures: int = 0
    challenge: int = 0
    block: int = 0
    last_seen_ns: int = 0


def list_agents(call: Call) -> Answer:
    """Return the agents of the newest events; imitators first, then those with most events."""
    query: wire_traffic.AgentsQuery = call.query
    tally, found, failed = Tally(), dict[_Agent, _Counted](), 0
    with call.app.store.read() as connection:
        known = TenantExpressions.of(call, connection)
        agents = known.compile({_NAME: known.check(_IS_AGENT, Use.CONDITION, "")})
        fields = known.compile(
            {name: known.check(f"agent.{name}", Use.KEY, "") for name in _FIELDS}
        )
        deadline = Deadline.after(SECONDS)
        look = Preview(connection, call.tenant_id, query, Kept.of(call), deadline)
        for row in look.rows():
            for seen, match in zip(row, agents.match([each.event for each in row]), strict=True):
                tally.see(seen)
                if isinstance(match, EventError) or match.errors:
                    failed += 1
                elif match.matched:
                    tally.match(seen)
                    _count(seen, fields, found)
    listed = sorted(
        found.items(), key=lambda each: (not each[0].imitates, -each[1].events, each[0])
    )
    return Answer(
        body=wire_traffic.AgentsFound(
            looked_at=look.looked_at,
            complete=look.complete,
            failed=failed,
            distinct=len(found),
            agents=tuple(_answer(*each) for each in listed[: query.limit]),
            **tally.bounds(),
        ),
        headers=passed_over(look.passed),
    )


def _count(seen: Seen, fields: Programs, found: dict[_Agent, _Counted]) -> None:
    prepared = fields.rules.prepare(seen.event)
    values: dict[str, Any] = {
        name: fields.rules.evaluate(at, prepared) for at, name in enumerate(_FIELDS)
    }
    problem, purpose = values.pop("signature_problem"), values.pop("purpose")
    values["is_provable"] &= values["proof"] == "name"
    index = seen.recorded.entry.index
    counted = found.setdefault(_Agent(**values), _Counted(purpose))
    counted.events += 1
    counted.invalid_signatures += problem != ""
    counted.challenge += index.action == "challenge"
    counted.block += index.action == "block"
    counted.last_seen_ns = max(counted.last_seen_ns, index.observed_at_ns)


def _answer(agent: _Agent, counted: _Counted) -> wire_traffic.AgentTraffic:
    return wire_traffic.AgentTraffic(
        claims=agent.claims[:MAX_TEXT],
        operator=agent.operator[:MAX_TEXT],
        product=agent.product[:MAX_TEXT],
        purpose=counted.purpose,
        proof=agent.proof,  # type: ignore[arg-type]
        imitates=agent.imitates,
        expression=agent.expression(),
        events=counted.events,
        invalid_signatures=counted.invalid_signatures,
        challenge=counted.challenge,
        block=counted.block,
        last_seen_at=wire_common.time_text(counted.last_seen_ns),
    )
