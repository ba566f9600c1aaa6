"""Named lists: shown without their entries, which are added and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.policy.document import Excerpt
from tidegate.policy.document.tree import Scalar
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.objects import Handlers
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire.kinds import LIST, to_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.stores.objects.definitions import Definition
    from tidegate_server.wire.kinds import DefinitionKind

MAX_ENTRIES = 100_000
"""The most entries of one list, as the service writes the whole list with every change."""
MAX_AUDITED_ENTRIES = 1_000
"""How many entries of one change the audit trail shows; it always has their number."""


def _summary(
    kind: DefinitionKind, stored: Definition, known: DefinitionSet
) -> wire_definitions.ListSummary:
    return _without_entries(to_answer(kind, stored, known))


def _without_entries(whole: wire_definitions.NamedList) -> wire_definitions.ListSummary:
    members = attrs.asdict(whole, recurse=False)
    del members["entries"]
    return wire_definitions.ListSummary(**members)


handlers = Handlers(LIST, show=_summary)


def change_entries(call: Call) -> Answer:
    """Add and remove entries; the answer doesn't list them."""
    try:
        answer = put_entries(call, "change-entries", call.body)
    except Problem as problem:
        raise _about_added(problem) from None
    return Answer(body=_without_entries(answer.body), revision=answer.revision)


def put_entries(
    call: Call,
    action: str,
    body: wire_definitions.EntriesChange,
    noted: Mapping[str, Any] | None = None,
) -> Answer:
    """Write other entries of a list.

    Args:
        call: names the list.
        action: the name in the audit trail.
        body: the entries to add and to remove.
        noted: more about the change, for the audit trail.
    """

    def merged(before: Definition) -> list[str]:
        # A dict keeps the order of the present entries, and contains each once.
        entries = dict.fromkeys([*before.body.get("entries", ()), *body.add])
        for entry in body.remove:
            entries.pop(entry, None)
        return list(entries)

    def added(present: DefinitionSet, before: Definition) -> Mapping[str, Any]:  # noqa: ARG001
        # Present entries were checked when they were added.
        items = tuple(map(Scalar, body.add))
        return {**before.body, "entries": Excerpt(items=items, nodes=1 + len(merged(before)))}

    def whole(before: Definition, checked: dict[str, Any]) -> dict[str, Any]:
        entries = merged(before)
        if len(entries) > MAX_ENTRIES:
            detail = f"the list would have {len(entries)} entries, at most {MAX_ENTRIES} fit"
            errors = [ErrorDetail(detail=detail, pointer="/add", code="wrong-length")]
            raise Problem("invalid-definitions", detail, errors=errors)
        rest = {name: value for name, value in checked.items() if name != "entries"}
        return {**rest, "entries": entries} if entries else rest

    audited = {
        "add": list(body.add[:MAX_AUDITED_ENTRIES]),
        "add_count": len(body.add),
        "remove": list(body.remove[:MAX_AUDITED_ENTRIES]),
        "remove_count": len(body.remove),
        **(noted or {}),
    }
    return handlers.save(call, action, added, whole, audited)


def _about_added(problem: Problem) -> Problem:
    """Return the problem with pointers into the body that was sent."""
    errors = [
        attrs.evolve(each, pointer=each.pointer.replace("/entries", "/add", 1))
        if isinstance(each.pointer, str)
        else each
        for each in problem.errors
    ]
    return Problem(
        problem.code,
        problem.detail,
        errors=errors,
        referrers=problem.referrers,
        headers=problem.headers,
    )
