"""What holds and what does not, in a table and in a file."""

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
"""Unproven: the quiet figures alone are over the bound, or too few: the machine is too busy."""
STYLES = {HOLDS: "green", BROKEN: "bold red", UNPROVEN: "yellow"}


@attrs.frozen
class Line:
    """One thing that has to hold under one attack."""

    attack: str
    verdict: str
    text: str


def judge(measured: Measured) -> list[Line]:
    """Everything that has to hold under an attack."""
    found = []

    def line(holds: bool, text: str, quiet_holds: bool = True) -> None:
        verdict = HOLDS if holds else BROKEN if quiet_holds else UNPROVEN
        found.append(Line(measured.name, verdict, text))

    if measured.isolates:
        _judge_others(measured, line)
    line(measured.growth <= GROWTH_MIB, f"memory {measured.growth:+,.0f} MiB afterwards")
    if measured.bounds_peak:
        line(measured.peak <= GROWTH_MIB, f"memory {measured.peak:+,.0f} MiB at most meanwhile")
    for each in measured.outcome.broken:
        line(False, each)
    return found


def _judge_others(measured: Measured, line: Any) -> None:
    quiet, attacked = measured.quiet.victim, measured.attacked.victim
    usual, now = quiet.at(0.99), attacked.at(0.99)
    enough = len(quiet.took) >= SAMPLES and len(attacked.took) >= SAMPLES
    text = f"p99 of the other tenant {usual:.1f} ms, {now:.1f} ms attacked"
    line(enough and now <= QUIET_TIMES * usual, text, enough)
    worst, worst_quiet = attacked.at(1), quiet.at(1)
    line(worst <= ANSWER_MS, f"slowest answer {worst:,.0f} ms", worst_quiet <= ANSWER_MS)
    line(not attacked.failed, f"{_failures(attacked)} to the other tenant", not quiet.failed)
    health, health_quiet = measured.attacked.health, measured.quiet.health
    text = f"slowest /healthz {health.at(1):,.0f} ms"
    line(health.at(1) <= HEALTH_MS, text, health_quiet.at(1) <= HEALTH_MS)
    line(not health.failed, f"{_failures(health)} to /healthz", not health_quiet.failed)


def _failures(times: Any) -> str:
    refused = ", ".join(f"{count} times {status}" for status, count in times.refused.items())
    return f"refused {refused or 'nothing'}, dropped {times.dropped or 'nothing'}"


def show(runs: Sequence[Measured], lines: Sequence[Line], said: Iterable[str]) -> None:
    """Print figures side by side, then what does not hold."""
    console = Console(width=max(Console().width, 150))
    table = Table(title="the other tenant and /healthz: quiet, and under attack")
    table.add_column("attack", overflow="fold", max_width=44)
    for name in ("p50 ms", "p99 ms", "max ms", "health ms", "refused", "memory MiB"):
        table.add_column(name, justify="right")
    table.add_column("server, attackers (processors)", justify="right")
    table.add_column("attackers were answered", overflow="fold", max_width=34)
    table.add_column("verdict")
    for each in runs:
        verdicts = {line.verdict for line in lines if line.attack == each.name}
        worst = next((one for one in (BROKEN, UNPROVEN) if one in verdicts), HOLDS)
        table.add_row(*_row(each), f"[{STYLES[worst]}]{worst}[/]")
    console.print(table)
    for text in said:
        console.print(f"limit: {text}", markup=False)
    for line in lines:
        if line.verdict != HOLDS:
            console.print(f"{line.verdict}: {line.attack}: {line.text}", markup=False)
    held = sum(line.verdict == HOLDS for line in lines)
    console.print(f"{held} of {len(lines)} lines hold", markup=False)


def _row(each: Measured) -> list[str]:
    quiet, attacked = each.quiet, each.attacked
    pairs = [
        f"{quiet.victim.at(share):,.1f} | {attacked.victim.at(share):,.1f}"
        for share in (0.5, 0.99, 1)
    ]
    answered = ", ".join(f"{count:,} x {name}" for name, count in each.outcome.statuses.items())
    said = "; ".join([answered, *each.outcome.notes])
    return [
        f"{each.name}: {each.what}",
        *pairs,
        f"{quiet.health.at(1):,.1f} | {attacked.health.at(1):,.1f}",
        f"{quiet.victim.failed} | {attacked.victim.failed}",
        f"{each.growth:+,.0f}, peak {each.peak:+,.0f}",
        f"{each.server_share:.2f}, {each.attacker_share:.2f}",
        said,
    ]


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
