"""Named lists: a list of lists leaves the entries out; entries are put in and taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.server import wire
from tidegate.server.call import Answer, Call
from tidegate.server.definition_kinds import LIST, to_answer
from tidegate.server.definition_objects import Handlers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.server.definition_kinds import DefinitionKind
    from tidegate.server.definition_set import DefinitionSet
    from tidegate.stores.definitions import Definition

MAX_AUDITED_ENTRIES = 1_000
"""Of one change, in the audit trail; their number is always told."""


def _summary(kind: DefinitionKind, stored: Definition, known: DefinitionSet) -> wire.ListSummary:
    whole: wire.NamedList = to_answer(kind, stored, known)
    members = attrs.asdict(whole, recurse=False)
    del members["entries"]
    return wire.ListSummary(**members)


handlers = Handlers(LIST, show=_summary)


def change_entries(call: Call) -> Answer:
    """Put entries in and take entries out; the answer leaves the entries out."""
    body: wire.EntriesChange = call.body

    def body_of(present: DefinitionSet, before: Definition) -> Mapping[str, Any]:  # noqa: ARG001
        # A dict keeps the order of what was there, and holds each entry once.
        entries = dict.fromkeys([*before.body.get("entries", ()), *body.add])
        for entry in body.remove:
            entries.pop(entry, None)
        return {**before.body, "entries": list(entries)}

    audited = {
        "add": list(body.add[:MAX_AUDITED_ENTRIES]),
        "add_count": len(body.add),
        "remove": list(body.remove[:MAX_AUDITED_ENTRIES]),
        "remove_count": len(body.remove),
    }
    answer = handlers.save(call, "change-entries", body_of, audited)
    whole: wire.NamedList = answer.body
    members = attrs.asdict(whole, recurse=False)
    del members["entries"]
    return Answer(body=wire.ListSummary(**members), revision=answer.revision)
