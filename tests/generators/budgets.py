"""Decisions whose budget ends: given the place, everybody repeats them alike.

    python -m tests.generators.budgets --sets 100000 --seed 1

The native engine counts and decides where the budget of a decision ends.  Given that, the
reference makes the same record and the same state, and so does another native engine whose
index learned from other events and that counts nothing.  Budgets are small, so that they end
anywhere: in actions, in the keys of entities, at scopes, conditions and windows; others are used up
exactly, or are larger than needed.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import click
import orjson
from tests.generators.scenarios import arrivals, definitions

from tidegate.evaluation.native import NativeEngine
from tidegate.policy.decide import decide
from tidegate.policy.decision import EngineDecision
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.compile import compile_all
from tidegate.policy.definitions.model import OnBudgetExceeded
from tidegate.policy.explain.explain import explain
from tidegate.policy.state import snapshot
from tidegate.policy.state.state import State
from tidegate.testing.choices import RandomChoices, happens, pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.generators.scenarios import Arrival

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.testing.choices import Choices

EVENTS = 12
BUDGETS = (1, 2, 4, 8, 12, 20, 32, 48, 80, 120, 200, 400, 1_000_000)
SETTINGS: tuple[OnBudgetExceeded, ...] = ("allow", "challenge", "block")
EXPLAIN_EVERY = 5
"""One in this many decisions is explained too, which takes as long as everything else."""


def with_budget(choices: Choices, compiled: CompiledDefinitions) -> CompiledDefinitions:
    """The same definitions with another budget, mostly a small one."""
    work = pick(choices, BUDGETS) + choices.below(6)
    limits = attrs.evolve(compiled.limits, decision_work=work)
    setting = pick(choices, SETTINGS)
    return attrs.evolve(compiled, limits=limits, on_budget_exceeded=setting)


@attrs.frozen
class Difference:
    """A decision that was not repeated alike."""

    seed: int
    what: str
    decided: Any
    repeated: Any

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.what}:\n{self.decided}\n{self.repeated}"


class Trio:
    """One set of definitions: an engine that counts, and two that repeat its decisions."""

    def __init__(self, seed: int, compiled: CompiledDefinitions, sample: list[bytes]) -> None:
        self._seed = seed
        self._compiled = compiled
        self._state = State(compiled.max_keys)
        self._counting = NativeEngine(bundle(compiled), sample=sample)
        self._repeating = NativeEngine(bundle(compiled))
        self.ended: Counter[str] = Counter()
        """Decisions by the kind of place their budgets ended at."""
        self.decisions = 0

    def decide(self, arrival: Arrival) -> Iterator[Difference]:
        """Decide and repeat; returns the differences."""
        body, at = arrival.body, arrival.received_at
        record = orjson.loads(self._counting.decide_record(body, at))
        ends = record.get("budget_ended_at", [])
        self.decisions += 1
        self.ended.update(map(_kind, ends) if ends else ["nowhere"])
        if self.decisions % EXPLAIN_EVERY == 0:
            explained = explain(self._compiled, self._state, body, at, ended_at=ends)
            yield from self._compare("explanation", record, explained.decision.to_record())
        decided = decide(self._compiled, self._state, body, at, ended_at=ends)
        self._state.apply(decided.changes)
        yield from self._compare("reference", record, decided.decision.to_record())
        again = EngineDecision.from_record(record)
        yield from self._compare("record", record, again.to_record())
        repeated = self._repeating.decide_record(body, at, again.budget_ended_at)
        yield from self._compare("native", record, orjson.loads(repeated))
        state = orjson.loads(self._counting.snapshot())
        saved = orjson.loads(snapshot.save(self._compiled, self._state))
        yield from self._compare("state of the reference", state, saved)
        repeated = self._repeating.snapshot()
        yield from self._compare("state of the native", state, orjson.loads(repeated))

    def _compare(self, what: str, decided: Any, repeated: Any) -> Iterator[Difference]:
        if decided != repeated:
            yield Difference(self._seed, what, decided, repeated)


def run(seed: int) -> tuple[Trio, list[Difference]]:
    """One generated set and its traffic."""
    choices = RandomChoices(random.Random(seed))
    compiled = with_budget(choices, compile_all(definitions(choices)).compiled)
    traffic = list(arrivals(choices, EVENTS))
    sample = [each.body for each in traffic] if happens(choices, 50) else []
    trio = Trio(seed, compiled, sample)
    return trio, [each for arrival in traffic for each in trio.decide(arrival)]


def _kind(place: str) -> str:
    """A place without what is named in it."""
    kind, _, rest = place.partition(".")
    return f"{kind} {rest.partition('.')[2].split('[')[0].split('.')[-1]}" + (
        " in a clause" if ".clauses[" in place and place.endswith(".expression") else ""
    )


@click.command()
@click.option("--sets", default=100_000, show_default=True, help="How many to generate.")
@click.option("--seed", default=0, show_default=True, help="The first seed.")
@click.option("--seconds", default=0.0, help="Stop after this time; 0 for none.")
@click.option("--show", default=5, show_default=True, help="How many differences to print.")
def main(sets: int, seed: int, seconds: float, show: int) -> None:
    """Repeat decisions whose budgets end; exit 1 when one comes out otherwise."""
    differing, decisions, started = 0, 0, time.monotonic()
    ended: Counter[str] = Counter()
    made = 0
    for number in range(seed, seed + sets):
        if seconds and time.monotonic() - started > seconds:
            break
        made += 1
        trio, differences = run(number)
        decisions += trio.decisions
        ended += trio.ended
        for difference in differences[: max(0, show - differing)]:
            click.echo(f"--- {difference}")
        differing += len(differences)
    for kind, count in ended.most_common():
        click.echo(f"{count:>9}  ended at: {kind}")
    click.echo(
        f"{made} sets from seed {seed}, {decisions} decisions, "
        f"{time.monotonic() - started:.0f} s: {differing} differ"
    )
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
