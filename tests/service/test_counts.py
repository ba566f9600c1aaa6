"""All places of the service that count, against the command's summary, on real traffic."""

from __future__ import annotations

import itertools
from pathlib import Path

from benchmarks.counts import ALL, count, differences
from benchmarks.traffic.policies import read_policies
from benchmarks.traffic.workload import read_lines
from tests.shared_data import shared_path, size

EVENTS = size(5_000, 1_500)


def test_all_places_count_what_the_summary_counts(tmp_path: Path, process: None) -> None:
    """Answers, results, timeline, metrics, search and command have the same numbers, of each
    policy and of all decisions."""
    lines = itertools.islice(read_lines(shared_path("data/traffic/events.jsonl.gz")), EVENTS)
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"\n".join(line.strip() for line in lines))
    places, summarised = count(events, read_policies(shared_path("data/traffic/policies.json.gz")))
    assert sum(summarised[ALL].values()) > EVENTS / 2
    assert len(places["results"]) > 5
    assert len(places["decisions"]) == len(places["results"])
    assert differences(places, summarised) == []
