"""All attacks, and a run of them on a server that is started for it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import attrs
from tests.attack.ahead import Ahead
from tests.attack.attack import Attack, Scale
from tests.attack.budgets import Budget, Hog
from tests.attack.connections import Headers, Pipelining
from tests.attack.control import Checks, Explanations, Lists, Logins, Puts, Replays, Simulations
from tests.attack.framing import Framing, Order
from tests.attack.logins import Guesses
from tests.attack.memory import Memory
from tests.attack.mistakes import Mistakes
from tests.attack.places import Places
from tests.attack.report import Line, judge
from tests.attack.runs import Measured, Pace, Probe, Run, attackers, set_up
from tests.attack.served import serving

KINDS: tuple[type[Attack], ...] = (
    Budget,
    Hog,
    Checks,
    Logins,
    Explanations,
    Simulations,
    Replays,
    Puts,
    Lists,
    Mistakes,
    Headers,
    Pipelining,
    Order,
    Framing,
    Guesses,
    Memory,
    Places,
    Ahead,
)
AT_ONCE = (Budget, Hog, Checks, Logins, Explanations, Simulations, Replays, Puts, Lists, Headers)
"""Attacks that run together: all that take the server's time."""
TOGETHER = "together"
NAMES = (*(kind.name for kind in KINDS), TOGETHER)


@attrs.frozen
class Attacked:
    """The outcomes of all attacks.

    Attributes:
        said: what the server did not allow.
    """

    runs: list[Measured]
    said: list[str]

    @property
    def lines(self) -> list[Line]:
        """Everything that has to hold."""
        return [line for each in self.runs for line in judge(each)]


def attack(
    names: Collection[str],
    scale: Scale,
    pace: Pace,
    python: str = sys.executable,
    begun: Callable[[str], None] = lambda name: None,
) -> Attacked:
    """Every attack by itself, and those that isolation is about at once.

    Args:
        python: the interpreter whose Tidegate is attacked.
        begun: called with the name of each attack.
    """
    kinds = [
        kind for kind in KINDS if kind.name in names or (TOGETHER in names and kind in AT_ONCE)
    ]
    with (
        tempfile.TemporaryDirectory(prefix="tidegate-attack-") as directory,
        serving(Path(directory), python) as world,
        attackers() as pool,
        Probe(world) as probe,
    ):
        begun("set-up")
        made = set_up(world, kinds, scale)
        run = Run.begin(world, probe, pool, pace)
        runs = []
        for each in made:
            if each.name in names:
                begun(each.name)
                runs.append(run.measure(each.name, each.what, [each]))
        together = [each for each in made if isinstance(each, AT_ONCE)]
        if TOGETHER in names and together:
            begun(TOGETHER)
            what = ", ".join(each.name for each in together)
            runs.append(run.measure(TOGETHER, what, together))
        return Attacked(runs, world.said)
