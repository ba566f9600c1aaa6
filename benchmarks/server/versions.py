"""``python -m benchmarks.server.versions COMMIT``: the service and another commit's.

Both serve the same definitions, on the same core, and are loaded alternately in one run; the other
core has the load generator.  The first in a round is second in the next.  A ratio is the
median of the ratios of the rounds, so that what slows a whole round down does not count.  Exits
with 1 where this version answers fewer requests a second than ``--share`` of the other.

The other version is checked out and built below ``target/versions`` the first time.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.machine import describe
from benchmarks.server.served import load, load_generator, serving
from benchmarks.server.service import CALLS, CONNECTIONS, EVENTS, definitions
from benchmarks.traffic.workload import TRAFFIC, has_traffic, iterate_rules, read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.server.served import Served

ROOT = Path(__file__).parents[2]
THIS, OTHER = "this version", "the other"
FIGURES = ("per_second", "p50_ms", "p99_ms")
WARMING_SECONDS = 2.0


@click.command()
@click.argument("commit")
@click.option("--seconds", default=10.0, show_default=True, help="Length of each load.")
@click.option("--rounds", default=7, show_default=True)
@click.option("--rules", default=1_000, show_default=True, help="Rules of the tenant.")
@click.option("--share", default=0.95, show_default=True, help="Of the other version's rate.")
def main(commit: str, seconds: float, rounds: int, rules: int, share: float) -> None:
    """Measure this version against another COMMIT."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    program, other = load_generator(), built(commit)
    document = definitions(list(itertools.islice(iterate_rules(rules), rules)))
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        events = directory / "events.jsonl"
        lines = itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), EVENTS)
        events.write_bytes(b"\n".join(line.strip() for line in lines))
        served = {
            name: stack.enter_context(serving(document, python=python))
            for name, python in ((THIS, sys.executable), (OTHER, str(other)))
        }
        measured = alternately(program, served, events, seconds, rounds)
    is_kept = report(measured, commit, rules, share)
    sys.exit(not is_kept)


def built(commit: str) -> Path:
    """The interpreter of a commit's own environment, which is made when there isn't one."""
    name = _run("git", "rev-parse", "--short=12", f"{commit}^{{commit}}").strip()
    place = ROOT / "target" / "versions" / name
    if not place.exists():
        _run("git", "worktree", "add", "--detach", str(place), name)
    subprocess.run(["make", ".venv/built"], cwd=place, check=True, stdout=sys.stderr)
    return place / ".venv" / "bin" / "python"


def _run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout


def alternately(
    program: Path, served: Mapping[str, Served], events: Path, seconds: float, rounds: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Measurements by call and version, one for each round."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {
        call: {name: [] for name in served} for call in CALLS
    }
    for number in range(rounds + 1):  # the first one warms up
        length = seconds if number else WARMING_SECONDS
        for call, path in CALLS.items():
            names = list(served) if number % 2 else list(reversed(served))
            for name in names:
                each = served[name]
                key = [f"x-service-api-key: {each.api_key}"]
                result = load(program, each.address, path, events, CONNECTIONS, length, key)
                if set(result["statuses"]) != {"200"}:
                    raise click.ClickException(f"{name} answered with {result['statuses']}")
                if number:
                    found[call][name].append(result)
    return found


def report(
    measured: Mapping[str, Mapping[str, Sequence[dict[str, Any]]]],
    commit: str,
    rules: int,
    share: float,
) -> bool:
    """Print medians and ratios; returns whether the rate is kept on each call."""
    click.echo(describe())
    click.echo(f"{rules} rules, {CONNECTIONS} connections; this version beside {commit}")
    click.echo(f"{'':10}{'':14}" + "".join(f"{each:>12}" for each in FIGURES))
    is_kept = True
    for call, by_version in measured.items():
        for name, results in by_version.items():
            medians = (statistics.median(each[figure] for each in results) for figure in FIGURES)
            click.echo(f"{call:10}{name:14}" + "".join(f"{each:12,.2f}" for each in medians))
        pairs = list(zip(by_version[THIS], by_version[OTHER], strict=True))
        ratios = [statistics.median(a[each] / b[each] for a, b in pairs) for each in FIGURES]
        click.echo(f"{call:10}{'ratio':14}" + "".join(f"{each:12.3f}" for each in ratios))
        rates = sorted(a["per_second"] / b["per_second"] for a, b in pairs)
        met = ratios[0] >= share
        is_kept &= met
        click.echo(
            f"{'':10}rate at least {share:.0%}: {met}; of single rounds"
            f" {rates[0]:.3f} to {rates[-1]:.3f}"
        )
    return is_kept


if __name__ == "__main__":
    main()
