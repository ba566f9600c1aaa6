"""``python -m benchmarks.server.startup``: from nothing to a ready rule set, and what it weighs.

Each run is a new process, so that nothing is warm: imports, reading the rules from disk,
building the set, and the first answer.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks import machine
from benchmarks.traffic import workload

SIZES = (1_000, 10_000)
WAYS = ("text", "canonical")
STAGES = ("import", "build", "first answer", "process")
PAGE_BYTES = resource.getpagesize()
PAGE_COLUMNS = 120
"""Width of the table in a file or a pipe."""


def build(way: str, rules: Path, event: Path) -> dict[str, float]:
    """Build one set in this process and say how long each stage took and what it holds."""
    started = time.perf_counter()
    import tidegate

    imported = time.perf_counter()
    data = rules.read_bytes()
    before = _resident_bytes()
    built_from = time.perf_counter()
    if way == "text":
        matcher = tidegate.RuleSet(json.loads(data))
    else:
        matcher = tidegate.RuleSet.from_canonical(data)
    ready = time.perf_counter()
    matcher.match(event.read_bytes())
    answered = time.perf_counter()
    return {
        "import": imported - started,
        "build": ready - built_from,
        "first answer": answered - ready,
        "bytes a rule": (_resident_bytes() - before) / len(matcher),
    }


def measure(size: int, runs: int) -> dict[str, dict[str, float]]:
    """Medians over ``runs`` new processes of each way, taken alternately."""
    import tidegate

    texts = {rule.rule_id: rule.expression for rule in workload.load().rules(size)}
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        event = Path(folder, "event")
        event.write_bytes(workload.load().representative)
        files = {way: Path(folder, way) for way in WAYS}
        files["text"].write_text(json.dumps(texts))
        files["canonical"].write_bytes(tidegate.RuleSet(texts).to_canonical())
        for _ in range(runs):
            for way in WAYS:
                found[way].append(_spawn(way, files[way], event))
    return {
        way: {stage: statistics.median(one[stage] for one in ones) for stage in ones[0]}
        for way, ones in found.items()
    }


def _spawn(way: str, rules: Path, event: Path) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.server.startup",
        "--child",
        way,
        str(rules),
        str(event),
    ]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    elapsed = time.perf_counter() - started
    times: dict[str, float] = json.loads(done.stdout)
    return times | {"process": elapsed}


def _resident_bytes() -> int:
    """Memory that this process holds, without what it could give back; 0 where unknown."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps freed pages otherwise
    if trim is not None:
        trim(0)
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * PAGE_BYTES if statm.is_file() else 0


@click.command()
@click.option("--runs", type=click.IntRange(1), default=7, help="New processes of each kind.")
@click.option("--child", nargs=3, hidden=True, help="Way, rules, event: what a new process runs.")
def main(runs: int, child: tuple[str, str, str] | None) -> None:
    """Time rule sets from text and from canonical form, each in new processes."""
    if child:
        way, rules, event = child
        click.echo(json.dumps(build(way, Path(rules), Path(event))))
        return
    console = Console()
    if not console.is_terminal:
        console.width = PAGE_COLUMNS
    console.print(f"{machine.describe()}\nworkload: {workload.load().origin}", highlight=False)
    table = Table("rules", "from", *(f"{stage}, ms" for stage in STAGES), "bytes a rule")
    for size in SIZES:
        for way, medians in measure(size, runs).items():
            milliseconds = (f"{medians[stage] * 1e3:,.2f}" for stage in STAGES)
            table.add_row(f"{size:,}", way, *milliseconds, f"{medians['bytes a rule']:,.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
