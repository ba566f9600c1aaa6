"""The cells of the tables: which engine, which work, over which events."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.peers.adapter import Adapter, Forms, Missing, RefusedError
from benchmarks.peers.agreement import Agreed, agree, true_answers
from benchmarks.peers.timing import Work, interleave
from benchmarks.traffic.translation import is_common
from benchmarks.traffic.workload import MEDIUM_COMMON, SIMPLE, Event, Rule, Workload, iterate_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMS = ("from_bytes", "from_dict", "from_prepared")
EVENTS = 200
"""Events a rule set is timed over, evenly spaced in the workload."""

Cell: TypeAlias = tuple[str, str]
"""An engine's label and one of :data:`FORMS`."""


@dataclass(frozen=True)
class Effort:
    """Limits of time for all parts."""

    sizes: tuple[int, ...]
    rounds: int
    cell_seconds: float
    """About how long one timing of one cell lasts."""
    limit_seconds: float
    """Time for one engine to compile a set, and to compare answers."""


FULL = Effort(sizes=(100, 1_000, 10_000), rounds=5, cell_seconds=0.25, limit_seconds=20.0)
QUICK = Effort(sizes=(100, 1_000), rounds=3, cell_seconds=0.05, limit_seconds=5.0)


@dataclass
class Row:
    """The results of one engine for one piece of work."""

    engine: str
    nanoseconds: dict[str, float] = field(default_factory=dict)
    """Median of a call by form; a form the engine does not have is not in it."""
    rules: int = 1
    refused: list[str] = field(default_factory=list)
    disagreed: list[str] = field(default_factory=list)
    compared_events: int = 0
    reason: str = ""
    """The reason for missing numbers."""


@dataclass
class Table:
    """One piece of work under all engines."""

    name: str
    rules: int
    rows: list[Row]
    events: int = 1
    """Events there were to compare answers on."""


def measure(
    adapters: Sequence[Adapter], missing: Sequence[Missing], workload: Workload, effort: Effort
) -> Iterator[Table]:
    """Every table, one after the other."""
    absent = [Row(one.name, reason=one.reason) for one in missing]
    representative: Event = json.loads(workload.representative)
    for rule in (SIMPLE, MEDIUM_COMMON):
        rows = _measure_expression(adapters, rule, representative, workload.representative, effort)
        yield Table(f"{rule.rule_id} expression", 1, rows + absent)
    texts, events = _plain_events(workload)
    for size in effort.sizes:
        rules = common_rules(size)
        rows = _measure_set(adapters, rules, texts, events, effort)
        yield Table(f"set of {len(rules):,} rules", len(rules), rows + absent, len(events))


def common_rules(size: int) -> list[Rule]:
    """``size`` rules that stay inside what every engine has.

    A published set of ``size`` rules has about half as many, so they are the first of the
    smallest set that has enough.
    """
    for published in (size, size * 2, size * 10):
        rules = [rule for rule in iterate_rules(published) if is_common(rule.tree)]
        if len(rules) >= size:
            return rules[:size]
    return rules


def _plain_events(workload: Workload) -> tuple[list[bytes], list[Event]]:
    """Events whose path is canonical as received, evenly spaced.

    Other engines do not resolve paths; on these events there is nothing to resolve, so
    that they can give the same answers.
    """
    plain = [text for text in workload.events if has_plain_path(json.loads(text))]
    texts = plain[:: max(1, len(plain) // EVENTS)][:EVENTS]
    return texts, [json.loads(text) for text in texts]


def has_plain_path(event: Event) -> bool:
    """Whether nothing in the path of an event is to be resolved."""
    path = event["request"]["path"]
    return path.startswith("/") and not any(part in path for part in ("%", "//", "/."))


def _measure_expression(
    adapters: Sequence[Adapter], rule: Rule, event: Event, text: bytes, effort: Effort
) -> list[Row]:
    rows: list[Row] = []
    work: dict[Cell, Work] = {}
    for adapter in adapters:
        row = Row(adapter.label)
        rows.append(row)
        try:
            adapter.check(rule)
        except RefusedError as error:
            row.reason = f"refused: {error}"
            continue
        forms = adapter.expression(rule)
        if forms.from_dict(event) is not True or forms.from_bytes(text) is not True:
            row.reason = "disagrees: it holds on this event"
            continue
        row.compared_events = 1
        work |= _work(row.engine, forms, [text], [event])
    _fill(rows, work, effort)
    return rows


def _measure_set(
    adapters: Sequence[Adapter],
    rules: Sequence[Rule],
    texts: Sequence[bytes],
    events: Sequence[Event],
    effort: Effort,
) -> list[Row]:
    truth = true_answers(rules, events)
    rows: list[Row] = []
    work: dict[Cell, Work] = {}
    for adapter in adapters:
        agreed = agree(adapter, rules, texts, events, truth, limit_seconds=effort.limit_seconds)
        rows.append(_row(adapter.label, agreed))
        if agreed.forms is not None:
            work |= _work(adapter.label, agreed.forms, texts, events)
    _fill(rows, work, effort)
    return rows


def _row(engine: str, agreed: Agreed) -> Row:
    return Row(
        engine,
        rules=agreed.rules,
        refused=agreed.refused,
        disagreed=agreed.disagreed,
        compared_events=agreed.events,
        reason=agreed.reason,
    )


def _work(
    engine: str, forms: Forms[Any], texts: Sequence[bytes], events: Sequence[Event]
) -> dict[Cell, Work]:
    work = {
        (engine, "from_bytes"): Work(forms.from_bytes, texts),
        (engine, "from_dict"): Work(forms.from_dict, events),
    }
    if forms.prepare is not None and forms.from_prepared is not None:
        prepared = [forms.prepare(event) for event in events]
        work[engine, "from_prepared"] = Work(forms.from_prepared, prepared)
    return work


def _fill(rows: Sequence[Row], work: dict[Cell, Work], effort: Effort) -> None:
    medians = interleave(work, rounds=effort.rounds, seconds=effort.cell_seconds)
    for row, form in itertools.product(rows, FORMS):
        if (row.engine, form) in medians:
            row.nanoseconds[form] = medians[row.engine, form]
