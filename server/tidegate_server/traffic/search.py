"""``decisions/search``: search decisions, also by their events.

A page ends after a second, with the results so far, a cursor, and how far the search got. So rare
decisions are found over several pages.
"""

from __future__ import annotations

from hashlib import blake2b
from ipaddress import ip_network
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
import msgspec

from tidegate.errors import EventError
from tidegate.language.printer import to_text
from tidegate.language.tree import ast
from tidegate.policy.definitions.expressions import Use
from tidegate_server.control.call import Answer, Call
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.records.decisions import passed_over
from tidegate_server.records.kept import Kept
from tidegate_server.records.rows import rows_of
from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import decisions, log
from tidegate_server.stores.decision_log.lines import event_in
from tidegate_server.stores.decision_log.recorded import record_in
from tidegate_server.stores.decision_log.rows import Unreadable
from tidegate_server.traffic.preview import SECONDS, Deadline, redacted, spans
from tidegate_server.traffic.selection import TenantExpressions
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import traffic as wire_traffic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from tidegate.policy.traffic.programs import Programs
    from tidegate_server.stores.decision_log.decisions import FoundDecision

CHUNK = 256
"""Decisions with lines that are read in one step."""
MAX_EXAMINED = 5_000
"""Index entries that are read between two looks at the clock, some 10 ms."""


def search(call: Call) -> Answer:
    """Return the decisions of a search, newest first."""
    body: wire_traffic.DecisionSearch = call.body
    deadline = Deadline.after(SECONDS)
    scope = _scope(call)
    before = None
    if body.cursor is not None:
        before = UUID(str(call.app.cursors.open(body.cursor, scope)[0]))
    with call.app.store.read() as connection:
        searching = _Searching.of(call, connection)
        found, before = searching.page(before, deadline)
    lines = {each.seq: line for each, line in found if line is not None}
    rows = rows_of([each for each, _ in found], lines, searching.kept)
    cursor = None if before is None else call.app.cursors.seal([str(before)], scope)
    looked = None if before is None else wire_common.time_text((before.int >> 80) * 1_000_000)
    return Answer(
        body=wire_traffic.DecisionsFound(decisions=rows, cursor=cursor, searched_back_to=looked),
        headers=passed_over(searching.passed),
    )


@attrs.frozen
class _Searching:
    """A search that checks the index first, and the event only then.

    Attributes:
        query: the conditions on the index.
        programs: the conditions on the event; None if there aren't any.
        passed: unreadable entries.
    """

    call: Call
    connection: Connection
    query: decisions.DecisionQuery
    programs: Programs | None
    kept: Kept
    passed: list[Unreadable] = attrs.field(factory=list)

    @classmethod
    def of(cls, call: Call, connection: Connection) -> _Searching:
        """Build the search of a request.

        Raises:
            Problem: ``invalid-request``; a condition is invalid.
        """
        body: wire_traffic.DecisionSearch = call.body
        known = TenantExpressions.of(call, connection)
        checked = {
            pointer: known.check(text, Use.CONDITION, pointer)
            for pointer, text in _conditions(body)
        }
        programs = known.compile(checked) if checked else None
        return cls(call, connection, _query(body), programs, Kept.of(call))

    def page(
        self, before: UUID | None, deadline: Deadline
    ) -> tuple[list[tuple[FoundDecision, bytes | None]], UUID | None]:
        """Return decisions with their lines, and where the next page starts, if there is one."""
        body: wire_traffic.DecisionSearch = self.call.body
        needs_line = self.programs is not None or body.clause is not None
        received = spans(self.connection, self.call.tenant_id, self.query)
        found: list[tuple[FoundDecision, bytes | None]] = []
        while True:
            limit = CHUNK if needs_line else body.limit - len(found)
            page = decisions.search(
                self.connection,
                self.call.tenant_id,
                self.query,
                limit,
                before,
                received,
                MAX_EXAMINED,
            )
            self.passed.extend(page.passed_over)
            found += self._asked_for(page.decisions)
            before = page.next_before
            if len(found) > body.limit:
                return found[: body.limit], found[body.limit - 1][0].decision_id
            if before is None or len(found) == body.limit or deadline.is_over:
                return found, before

    def _asked_for(
        self, page: tuple[FoundDecision, ...]
    ) -> Iterator[tuple[FoundDecision, bytes | None]]:
        """Yield entries whose lines match the query, with their lines."""
        lines = self._lines(page)
        clause = self.call.body.clause
        with_lines = [(each, lines.get(each.seq)) for each in page]
        if clause is not None:
            with_lines = [each for each in with_lines if self._has_clause(*each, clause)]
        if self.programs is None:
            yield from with_lines
            return
        readable = [(each, line) for each, line in with_lines if line is not None]
        events = [redacted(event_in(line), self.kept) for _, line in readable]
        matches = self.programs.match(self.programs.with_actions(events))
        wanted = len(self.programs.rules)
        for each, match in zip(readable, matches, strict=True):
            if isinstance(match, EventError):
                self.passed.append(Unreadable(each[0].seq, each[0].seq))
            elif len(match.matched) == wanted:
                yield each

    def _has_clause(self, found: FoundDecision, line: bytes | None, clause: str) -> bool:
        """Tell whether a clause fired; an unreadable record is skipped."""
        if line is None:
            return False
        try:
            return any(each.clause == clause for each in record_in(line, found.seq).fired)
        except DamagedLogError:
            self.passed.append(Unreadable(found.seq, found.seq))
            return False

    def _lines(self, page: tuple[FoundDecision, ...]) -> dict[int, bytes]:
        def passed(error: DamagedLogError) -> None:
            last = error.seq if error.last_seq is None else error.last_seq
            self.passed.append(Unreadable(error.seq, last))

        seqs = sorted(each.seq for each in page)
        lines = log.read_many(self.connection, seqs, self.call.tenant_id, passed)
        return {each.seq: each.line for each in lines}


def _query(body: wire_traffic.DecisionSearch) -> decisions.DecisionQuery:
    path = body.path if body.path_prefix is None else f"{body.path_prefix}*"
    return decisions.DecisionQuery(
        from_ns=body.from_ns,
        to_ns=body.to_ns,
        clock=body.time,
        action=body.action,
        reason=body.reason,
        policy_id=body.policy_id,
        answered_by=body.answered_by,
        entity_id=body.entity_id,
        path=path,
        api_key_id=body.api_key_id,
        mode=body.mode,
        errors=body.errors,
    )


def _conditions(body: wire_traffic.DecisionSearch) -> Iterator[tuple[str, str]]:
    """Yield the conditions on the event as expressions, each with the member that has it.

    Raises:
        Problem: ``invalid-request``; the address is invalid.
    """
    if body.expression is not None:
        yield "/expression", body.expression
    if body.method is not None:
        yield "/method", f"request.method == {_literal(body.method.upper())}"
    if body.client_ip is not None:
        try:
            network = ip_network(body.client_ip, strict=False)
        except ValueError:
            detail = "no address and no network"
            errors = [ErrorDetail(detail=detail, pointer="/client_ip")]
            raise Problem("invalid-request", detail, errors=errors) from None
        contains = f"cidr({_literal(str(network))}).containsIP(request.client_ip)"
        yield "/client_ip", f"isIP(request.client_ip) && {contains}"


def _literal(text: str) -> str:
    return to_text(ast.StringLiteral(text))


def _scope(call: Call) -> str:
    """Return the scope of a cursor: the search without its position and length."""
    body = attrs.evolve(call.body, limit=1, cursor=None)
    digest = blake2b(msgspec.json.encode(body), digest_size=16).hexdigest()
    return f"{call.path} {digest}"
