"""G1 to G5, G7, G9, G11 and G12: the Rust benchmark, where no Python is in the way."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from benchmarks.goals.goal import Goal

if TYPE_CHECKING:
    from collections.abc import Sequence

Figures: TypeAlias = dict[str, dict[str, Any]]
"""Measurements by the name of the set."""

REPOSITORY = Path(__file__).parents[2]
WORKSPACE = ("--manifest-path", "benchmarks/native/Cargo.toml", "--target-dir", "target")
"""Where Cargo finds the programs that measure, and builds them; from the repository's root."""
COMMAND = (
    *("cargo", "run", "--quiet", "--release", "--locked", *WORKSPACE),
    *("--bin", "match_events", "--"),
)
PHASES = ("read", "fields", "search", "evaluate")


def measure(directory: Path, names: list[str]) -> Figures:
    """Run the benchmark over exported events and sets."""
    paths = [str(directory / f"rules-{name}.jsonl") for name in names]
    command = [*COMMAND, str(directory / "events.jsonl"), *paths]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE)
    lines = map(orjson.loads, done.stdout.splitlines())
    return {line["set"].removeprefix("rules-"): line for line in lines}


def middle(runs: Sequence[Figures]) -> Figures:
    """For each set, the run whose time for an event is neither the least nor the most."""

    def of(name: str) -> dict[str, Any]:
        found = sorted((run[name] for run in runs), key=lambda one: float(one["means"]["all"]))
        return found[len(found) // 2]

    return {name: of(name) for name in runs[0]}


def goals(figures: Figures) -> list[Goal]:
    """The goals that these figures decide."""
    return [*_times(figures), *_ratios(figures), *_rest(figures)]


def _all(figures: Figures, name: str, part: str) -> float:
    return float(figures[name]["percentiles"]["all"][part]) / 1000


def _floors(figures: Figures, name: str, part: str) -> float:
    found = figures[name]["percentiles"]
    return float(found[part]["p50"]) / float(found["quotes"]["p50"])


def _times(figures: Figures) -> list[Goal]:
    wanted = [
        ("G1", "1k plain", "p50", 2.5),
        ("G1", "1k", "p50", 3.5),
        ("G2", "10k plain low", "p50", 3.5),
        ("G2", "10k plain low", "p99", 9),
        ("G2", "10k plain", "p50", 5.5),
        ("G2", "10k", "p50", 7),
        ("G3", "100k plain low", "p50", 6),
        ("G3", "100k low", "p50", 10),
        ("G3", "100k plain low", "p99", 60),
    ]
    found = [
        Goal(goal, f"{name}: bytes in, {part}", bound, _all(figures, name, part), " µs")
        for goal, name, part, bound in wanted
        if name in figures
    ]
    if "100k plain low" in figures:
        mean = figures["100k plain low"]["means"]["all"] / 1000
        found.append(Goal("G3", "100k plain low: bytes in, mean", 9, mean, " µs"))
    floors = _floors(figures, "1k plain", "all")
    found.insert(1, Goal("G1", "1k plain: p50 over the quote floor", 4.2, floors, "x"))
    return found


def _ratios(figures: Figures) -> list[Goal]:
    def matching(name: str) -> float:
        return float(figures[name]["means"]["match"])

    wanted = [
        ("1k plain", 30),
        ("10k", 130),
        ("10k plain low", 200),
        ("100k plain low", 1200),
    ]
    found = [
        Goal(
            "G4",
            f"{name}: one rule after another over indexed, matching",
            bound,
            figures[name]["linear"] / matching(name),
            "x",
            is_at_least=True,
        )
        for name, bound in wanted
        if name in figures
    ]
    for more, fewer, bound in (
        ("10k plain low", "1k plain low", 2.2),
        ("100k plain low", "10k plain low", 3.5),
    ):
        if more in figures and fewer in figures:
            growth = matching(more) / matching(fewer)
            found.append(Goal("G5", f"{more} over {fewer}, matching", bound, growth, "x"))
    return found


def _rest(figures: Figures) -> list[Goal]:
    one = figures["1k"]
    unseen = one["unseen"]["means"]["all"] / one["means"]["all"]
    found = [
        Goal("G7", "reading over the quote floor", 2.2, _floors(figures, "1k", "read"), "x"),
        Goal("G9", "1k: never-seen values over natural ones, mean", 1.5, unseen, "x"),
    ]
    for name in ("1k", "10k"):
        if name in figures:
            found += _two_threads(name, figures[name])
    for name, bound in (("10k", 630), ("100k", 450)):
        if name in figures:
            each = (figures[name]["index_bytes"] + figures[name]["program_bytes"]) / figures[name][
                "rules"
            ]
            found.append(Goal("G11", f"{name}: bytes a rule, index and programs", bound, each))
    if "10k" in figures:
        build = figures["10k"]["compile_seconds"] + figures["10k"]["index_seconds"]
        found.append(Goal("build", "10k rules from canonical trees", 0.5, build, " s"))
    return found


def _two_threads(name: str, figures: dict[str, Any]) -> list[Goal]:
    """With one set for both, and with one for each: what the machine gives where none is shared."""
    of = {"two_threads": "two threads over one", "two_threads_apart": "the same, a set for each"}
    return [
        Goal("G12", f"{name}: {what}", 1.9, figures[key], "x", is_at_least=True)
        for key, what in of.items()
    ]


def phase_table(figures: Figures) -> str:
    """The phases of each set, means in nanoseconds an event, as Markdown."""
    lines = [
        "| set | rules | hold | looked at | quotes | " + " | ".join(PHASES) + " | all"
        " | linear | p50 | p99 | p99.9 | index B | program B | compile s | index s |",
        "|---|" + "--:|" * (len(PHASES) + 14),
    ]
    for name, found in figures.items():
        means, times = found["means"], found["percentiles"]
        cells = [
            f"{found['rules']:,}",
            f"{found['matched']:.2f}",
            f"{found['looked_at']:.1f}",
            f"{times['quotes']['p50']:,}",
            *(f"{means[phase]:,.0f}" for phase in PHASES),
            f"{means['all']:,.0f}",
            f"{found['linear']:,.0f}",
            *(f"{times['all'][part]:,}" for part in ("p50", "p99", "p999")),
            f"{found['index_bytes'] / found['rules']:.0f}",
            f"{found['program_bytes'] / found['rules']:.0f}",
            f"{found['compile_seconds']:.2f}",
            f"{found['index_seconds']:.2f}",
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
