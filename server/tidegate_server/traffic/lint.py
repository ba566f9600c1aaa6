"""``lint``: what recorded events show about a tenant's definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.policy.document import read_document
from tidegate.policy.traffic.doctor import KeyDoctor
from tidegate.policy.traffic.trial import Trial
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.changes import load_present
from tidegate_server.records.decisions import passed_over
from tidegate_server.records.kept import Kept
from tidegate_server.traffic.preview import Deadline, Preview
from tidegate_server.traffic.tally import Tally
from tidegate_server.wire import documents as wire_documents
from tidegate_server.wire import traffic as wire_traffic
from tidegate_server.wire.kinds import to_warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.findings import Finding
    from tidegate_server.traffic.preview import Seen

SECONDS = 4.0
"""Time for a lint: it decides three times as much as the policies of a tenant do."""
_READING = 0.3
"""The share of it for reading the events."""


def lint(call: Call) -> Answer:
    """Return the findings about the tenant's definitions, by object."""
    present = load_present(call)
    compilation = read_document(present.to_read(), present.compilation, lint="")
    tally = Tally()
    deadline = Deadline.after(SECONDS)
    with call.app.store.read() as connection:
        reading = Deadline.after(SECONDS * _READING)
        look = Preview(connection, call.tenant_id, call.query, Kept.of(call), reading)
        seen = [each for row in look.rows() for each in row]
    seen.sort(key=lambda each: each.recorded.entry.seq)
    looked_at, traffic = _in_traffic(call, compilation, seen, tally, deadline)
    found = [*compilation.findings, *traffic]
    return Answer(
        body=wire_traffic.LintFound(
            looked_at=looked_at,
            complete=look.complete and looked_at == len(seen),
            definitions=tuple(
                wire_documents.DefinitionFindings(
                    tenant_id=call.tenant_id,
                    kind=kind.name,
                    id=each.object_id,
                    name=each.name,
                    warnings=tuple(map(to_warning, about)),
                )
                for kind, each, about in present.by_object(found)
            ),
            general=tuple(to_warning(each) for each in found if not each.pointer),
            **tally.bounds(),
        ),
        headers=passed_over(look.passed),
    )


def _in_traffic(
    call: Call,
    compilation: Compilation,
    events: Sequence[Seen],
    tally: Tally,
    deadline: Deadline,
) -> tuple[int, Sequence[Finding]]:
    """Decide on events, oldest first; return how many were decided in time, and the findings."""
    trial = Trial(compilation)
    doctor = KeyDoctor(compilation.compiled)
    key = call.app.keys.redaction_of(call.tenant_id)
    engine = Engine(trial.definitions, redaction_key=key, events="any")
    looked_at = 0
    for each in events:
        if deadline.is_over:
            break
        looked_at += 1
        tally.see(each)
        at = each.recorded.entry.index.received_at_ns
        try:
            trial.add(each.event, engine.decide(each.event, at))
            doctor.see(each.event, at)
        except EventError:
            tally.errors["invalid-event"] += 1
        else:
            tally.match(each)
    return looked_at, list(trial.findings(doctor.reports()))
