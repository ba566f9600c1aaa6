"""The expectations that hold and those that do not, in a table and in a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table
from tests.attack.expectations import (
    ANSWER_MS,
    GROWTH_MIB,
    HEALTH_MS,
    QUIET_TIMES,
    SAMPLES,
)
from tests.attack.runs import Measured

HOLDS, BROKEN, UNPROVEN = "holds", "broken", "unproven"
"""Unproven: the quiet figures are over the bound as well, or too few: the machine is too busy."""
STYLES = {HOLDS: "green", BROKEN: "bold red", UNPROVEN: "yellow"}


@attrs.frozen
class Line:
    """One thing that has to hold under one attack."""

    attack: str
    verdict: str
    text: str


def judge(measured: Measured) -> list[Line]:
    """Everything that has to hold under an attack."""
    found = _others(measured) if measured.isolates else []

    def line(holds: bool, text: str) -> None:
        found.append(Line(measured.name, HOLDS if holds else BROKEN, text))

    if measured.bounds_growth:
        line(measured.growth <= GROWTH_MIB, f"memory {measured.growth:+,.0f} MiB afterwards")
    if measured.bounds_peak:
        line(measured.peak <= GROWTH_MIB, f"memory {measured.peak:+,.0f} MiB at most meanwhile")
    for each in measured.outcome.broken:
        line(False, each)
    return found


def _others(measured: Measured) -> list[Line]:
    """Expectations for the other tenant and for callers of the health checks."""
    name, quiet, attacked = measured.name, measured.quiet, measured.attacked
    usual, now = quiet.victim.at(0.99), attacked.victim.at(0.99)
    is_enough = min(len(quiet.victim.took), len(attacked.victim.took)) >= SAMPLES
    # A server that is still busy with the attack before would make any answer look quick.
    is_proof = is_enough and usual <= ANSWER_MS
    verdict = BROKEN if now > QUIET_TIMES * usual else HOLDS if is_proof else UNPROVEN
    found = [Line(name, verdict, f"p99 of the other tenant: {usual:.1f} ms, {now:.1f} ms attacked")]
    for who, before, since, most in (
        ("answer to the other tenant", quiet.victim, attacked.victim, ANSWER_MS),
        ("/healthz", quiet.health, attacked.health, HEALTH_MS),
    ):
        text = f"slowest {who}: {before.at(1):,.0f} ms, {since.at(1):,.0f} ms attacked"
        found.append(Line(name, _bounded(since.at(1), before.at(1), most), text))
        refused = ", ".join(f"{count} times {each}" for each, count in since.refused.items())
        text = f"{who}: refused {refused or 'never'}, dropped {since.dropped} times"
        verdict = HOLDS if not since.failed else UNPROVEN if before.failed else BROKEN
        found.append(Line(name, verdict, text))
    return found


def _bounded(now: float, quiet: float, most: float) -> str:
    """Whether a bound holds; unproven where it is over, and the quiet figure alone is, too."""
    if now <= most:
        return HOLDS
    return BROKEN if quiet <= most or now > QUIET_TIMES * quiet else UNPROVEN


def show(runs: Sequence[Measured], lines: Sequence[Line], said: Iterable[str]) -> None:
    """Print figures side by side, then what does not hold."""
    console = Console(width=max(Console().width, 170))
    table = Table(title="the other tenant and /healthz: quiet > under attack")
    table.add_column("attack")
    for name in ("p50 ms", "p99 ms", "max ms", "/healthz max ms", "refused", "memory MiB, peak"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("processors: server, attackers", justify="right")
    table.add_column("attackers were answered", overflow="fold")
    table.add_column("verdict")
    for each in runs:
        verdicts = {line.verdict for line in lines if line.attack == each.name}
        worst = next((one for one in (BROKEN, UNPROVEN) if one in verdicts), HOLDS)
        table.add_row(*_row(each), f"[{STYLES[worst]}]{worst}[/]")
    console.print(table)
    for each in runs:
        console.print(f"{each.name}: {each.what}", markup=False)
    for text in said:
        console.print(f"limit: {text}", markup=False)
    for line in lines:
        if line.verdict != HOLDS:
            console.print(f"{line.verdict}: {line.attack}: {line.text}", markup=False)
    held = sum(line.verdict == HOLDS for line in lines)
    console.print(f"{held} of {len(lines)} lines hold", markup=False)


def _row(each: Measured) -> list[str]:
    quiet, attacked = each.quiet, each.attacked
    answered = ", ".join(f"{count:,} x {name}" for name, count in each.outcome.statuses.items())
    return [
        each.name,
        *(_pair(quiet.victim.at(share), attacked.victim.at(share)) for share in (0.5, 0.99, 1)),
        _pair(quiet.health.at(1), attacked.health.at(1)),
        f"{quiet.victim.failed + quiet.health.failed} > "
        f"{attacked.victim.failed + attacked.health.failed}",
        f"{each.growth:+,.0f}, {each.peak:+,.0f}",
        f"{each.server_share:.2f}, {each.attacker_share:.2f}",
        "; ".join([answered, *each.outcome.notes]),
    ]


def _pair(quiet: float, attacked: float) -> str:
    return " > ".join(f"{each:.1f}" if each < 100 else f"{each:,.0f}" for each in (quiet, attacked))


def write(path: Path, runs: Sequence[Measured], lines: Sequence[Line], said: Sequence[str]) -> None:
    """All figures and verdicts as JSON."""
    document = {
        "said": list(said),
        "lines": [attrs.asdict(line) for line in lines],
        "attacks": [_figures(each) for each in runs],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def _figures(each: Measured) -> dict[str, Any]:
    seen = {"quiet": each.quiet, "attacked": each.attacked}
    return {
        "name": each.name,
        "what": each.what,
        "seconds": each.seconds,
        "growth_mib": each.growth,
        "peak_mib": each.peak,
        "server_processors": each.server_share,
        "attacker_processors": each.attacker_share,
        "statuses": dict(each.outcome.statuses),
        "notes": each.outcome.notes,
        "broken": each.outcome.broken,
        **{
            name: {"victim": one.victim.figures(), "health": one.health.figures()}
            for name, one in seen.items()
        },
    }
