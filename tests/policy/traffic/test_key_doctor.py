"""The key doctor over recorded traffic: planted faults are found, and good keys are left alone."""

from __future__ import annotations

import gzip

import pytest
from tests.shared_data import shared_path, size

from tidegate.cli.inputs.events import time_of
from tidegate.policy.document import read_document
from tidegate.policy.traffic.doctor import KeyDoctor, KeyReport

GOOD = """
  - {name: address, key_fields: [derived.client_network]}
  - name: account
    key_fields: ['fields["account_id"]']
    match_expression: '"account_id" in fields'
  - {name: fingerprint, key_fields: ['fields["ja4"]', derived.client_network]}
"""
IN_SAMPLES = frozenset([] if size(1, 0) else ["key-too-broad"])
PLANTED = {
    "skipped": ("key_fields: ['fields[\"account_id\"]']", "key-often-missing"),
    "blank": (
        "key_fields: ['fields[\"account_id\"]'], on_missing_key: blank",
        "key-often-missing",
    ),
    "request": ("key_fields: [string(observed_at), derived.client_network]", "key-per-request"),
    "method": ("key_fields: [request.method]", "key-too-broad"),
    "country": ("key_fields: ['fields[\"country\"]']", "key-shared"),
    "agent": ("key_fields: [request.user_agent]", "key-forgeable"),
}


@pytest.fixture(scope="module")
def reports() -> dict[str, KeyReport]:
    """The reports on good keys, and on each planted one."""
    lines = [f"  - {{name: {name}, {members}}}\n" for name, (members, _) in PLANTED.items()]
    text = f"apiVersion: tidegate/v1\nentities:{GOOD}{''.join(lines)}"
    doctor = KeyDoctor(read_document(text).compiled)
    with gzip.open(shared_path("data/traffic/events.jsonl.gz")) as file:
        events = file.read().splitlines()
    for event in events[:: max(1, len(events) // 10_000)]:
        doctor.see(event, round((time_of(event) or 0) * 1_000_000_000))
    return {each.slug: each for each in doctor.reports()}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(reports: dict[str, KeyReport], name: str) -> None:
    """Each fault has its finding, and the verdict is the first of them."""
    found = reports[name].findings
    assert PLANTED[name][1] in {each.code for each in found}
    assert reports[name].verdict == found[0].detail


@pytest.mark.parametrize("name", ["address", "account", "fingerprint"])
def test_nothing_is_found_about_a_good_key(reports: dict[str, KeyReport], name: str) -> None:
    """A key that tells actors apart has no finding, except that a sample has few visitors."""
    found = {each.code for each in reports[name].findings}
    assert found <= IN_SAMPLES
