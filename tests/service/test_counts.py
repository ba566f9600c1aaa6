"""The results of the service against the command's summary, on real traffic."""

from __future__ import annotations

import itertools
from pathlib import Path

from benchmarks.counts import ALL, both, differences
from benchmarks.traffic.policies import read_policies
from benchmarks.traffic.workload import read_lines
from tests.shared_data import shared_path, size

EVENTS = size(5_000, 1_500)


def test_results_count_what_the_summary_counts(tmp_path: Path) -> None:
    """The same events by the same definitions: every policy has the same counts in both."""
    lines = itertools.islice(read_lines(shared_path("data/traffic/events.jsonl.gz")), EVENTS)
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"\n".join(line.strip() for line in lines))
    served, summarised = both(events, read_policies(shared_path("data/traffic/policies.json.gz")))
    assert sum(served[ALL].values()) > EVENTS / 2
    assert len(served) > 5
    assert differences(served, summarised) == []
