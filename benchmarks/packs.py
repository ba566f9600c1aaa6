"""Measures packs over labelled traffic, and writes their READMEs.

``python -m benchmarks.packs`` decides over all of the shared traffic set by each pack alone, and
writes the README of each pack from its ``pack.yaml`` and these figures.
"""

from __future__ import annotations

import argparse
import gzip
import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import orjson
from tests.shared_data import SHARED

from tidegate.definitions import load_definitions
from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.packs import BUNDLED, Pack, bundled_pack, load_pack
from tidegate.packs.objects import by_slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EVENTS = SHARED / "data/traffic/events.jsonl.gz"
LABELS = ("benign", "bot", "attack")
OUTCOMES = ("challenge", "block")
MOST = {"challenge": 0.01, "block": 0.001}
"""The greatest share of benign addresses that a pack may challenge or block."""
_95 = 1.959964


@attrs.define
class Measured:
    """The effects of a pack on labelled events.

    Attributes:
        events: label to events.
        addresses: label to addresses; one with an attack counts as an attacker's, else one
            with a bot as a bot's.
        fired: (policy, clause, label) to events at which the clause fired by itself.
        stopped: (outcome, label) to events.
        stopped_addresses: (outcome, label) to addresses with such an event.
        refused: events that the engine refused.
    """

    events: Counter[str] = attrs.field(factory=Counter)
    addresses: Mapping[str, int] = attrs.field(factory=dict)
    fired: Counter[tuple[str, str, str]] = attrs.field(factory=Counter)
    stopped: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    stopped_addresses: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    refused: int = 0

    def share(self, outcome: str, label: str = "benign") -> float:
        """The share of a label's addresses with a challenge or block."""
        return self.stopped_addresses[outcome, label] / max(self.addresses[label], 1)


def interval(found: int, of: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share."""
    if not of:
        return 0.0, 1.0
    share, square = found / of, _95**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _95 / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def measure(pack: Pack, events: Iterable[bytes]) -> Measured:
    """Decide over labelled events by a pack alone.

    Args:
        pack: the pack.
        events: lines with ``fields.label``, in the order of time.
    """
    engine = Engine(load_definitions(pack.folder / "definitions.yaml"))
    measured = Measured()
    seen: dict[str, set[str]] = {each: set() for each in LABELS}
    stopped: dict[str, set[str]] = {each: set() for each in OUTCOMES}
    for line in events:
        event = orjson.loads(line)
        label, address = event["fields"]["label"], event["request"]["client_ip"]
        seen[label].add(address)
        try:
            decision = engine.decide(line)
        except EventError:
            measured.refused += 1
            continue
        measured.events[label] += 1
        for clause in decision.fired:
            if not clause.active:
                measured.fired[clause.policy, clause.clause, label] += 1
        outcome = decision.action.type
        if outcome != "allow":
            measured.stopped[outcome, label] += 1
            stopped[outcome].add(address)
    seen["bot"] -= seen["attack"]
    seen["benign"] -= seen["attack"] | seen["bot"]
    measured.addresses = {each: len(found) for each, found in seen.items()}
    measured.stopped_addresses = Counter(
        {
            (each, label): len(stopped[each] & found)
            for each in OUTCOMES
            for label, found in seen.items()
        }
    )
    return measured


def readme(pack: Pack, measured: Measured) -> str:
    """The text of a pack's README."""
    lines = [f"# {pack.name} {pack.version}", "", pack.summary]
    for title, notes in (
        ("Needs", pack.needs),
        ("Catches", pack.catches),
        ("Misses", pack.misses),
        ("Can hurt", pack.hurts),
    ):
        lines += ["", f"## {title}", "", *(f"- {note}" for note in notes)]
    if pack.slots:
        lines += [
            "",
            "## Slots",
            "",
            "Actions that you define; each has a guess for a default.",
            "",
        ]
        lines += ["| slot | meaning |", "|---|---|"]
        lines += [f"| `{slot}` | {meaning} |" for slot, meaning in pack.slots.items()]
    lines += ["", "## Measured", "", pack.measured, "", *_clauses(pack, measured)]
    lines += ["", *_stopped(measured)]
    return "\n".join(lines) + "\n"


def _clauses(pack: Pack, measured: Measured) -> list[str]:
    """The events at which each clause fired."""
    numbers = ", ".join(f"{measured.events[label]:,} {label}" for label in LABELS)
    lines = [
        f"The events at which each clause fired by itself, of {numbers}, with the share and its"
        " interval of 95 %:",
        "",
        "| policy | clause | benign | bot | attack |",
        "|---|---|--:|--:|--:|",
    ]
    for slug, policy in by_slug(pack.definitions, "policies").items():
        for number, clause in enumerate(policy["clauses"], 1):
            name = clause.get("name", f"clause-{number}")
            cells = [
                _cell(measured.fired[slug, name, each], measured.events[each]) for each in LABELS
            ]
            lines.append(f"| {slug} | {name} | {' | '.join(cells)} |")
    return lines


def _stopped(measured: Measured) -> list[str]:
    """The events and addresses that were challenged or blocked."""
    lines = [
        "The events and addresses that it challenged or blocked, active mitigations included. An"
        " address counts as an attacker's if one of its events is an attack, else as a bot's if one"
        " is a bot's:",
        "",
        "| | benign | bot | attack |",
        "|---|--:|--:|--:|",
    ]
    for outcome in OUTCOMES:
        cells = [_cell(measured.stopped[outcome, each], measured.events[each]) for each in LABELS]
        lines.append(f"| events: {outcome} | {' | '.join(cells)} |")
    for outcome in OUTCOMES:
        cells = [
            _cell(measured.stopped_addresses[outcome, each], measured.addresses[each])
            for each in LABELS
        ]
        lines.append(f"| addresses: {outcome} | {' | '.join(cells)} |")
    return lines


def _cell(found: int, of: int) -> str:
    low, high = interval(found, of)
    share = found / of if of else 0.0
    return f"{found:,} ({share:.3%}; {low:.3%} to {high:.3%})"


def read_events(path: Path) -> list[bytes]:
    """The lines of a packed file."""
    with gzip.open(path) as file:
        return list(file)


def main(arguments: list[str]) -> int:
    """Measure packs, write their READMEs, and print the shares of benign addresses."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packs", description=__doc__)
    parser.add_argument("packs", nargs="*", metavar="NAME", help="only these packs")
    parser.add_argument("--from", dest="folder", type=Path, help="a pack of your own")
    parser.add_argument("--events", type=Path, default=EVENTS, help="JSON lines with labels, gzip")
    options = parser.parse_args(arguments)
    events = read_events(options.events)
    packs = [load_pack(options.folder)] if options.folder else []
    packs += [bundled_pack(each) for each in options.packs or (() if packs else BUNDLED)]
    failed = False
    for pack in packs:
        measured = measure(pack, events)
        (pack.folder / "README.md").write_text(readme(pack, measured))
        shares: dict[str, Any] = {each: measured.share(each) for each in OUTCOMES}
        failed |= any(shares[each] > MOST[each] for each in OUTCOMES)
        print(pack.name, *(f"{each} {share:.3%}" for each, share in shares.items()))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
