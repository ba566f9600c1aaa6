"""Addresses that look like addresses."""

from __future__ import annotations

import pytest

import tidegate
from shared_data import shared_lines

SCHEMA = tidegate.Schema.empty().with_variables({"s": "string"})
PROGRAMS = {
    (kind, evaluator): tidegate.compile(text, schema=SCHEMA, evaluator=evaluator)  # type: ignore[arg-type]
    for kind, text in (("address", "isIP(s)"), ("prefix", "isCIDR(s)"))
    for evaluator in ("native", "reference")
}
ZONES_AND_DOTTED = ("%", "::ffff:192.168.140.255")


def test_published_addresses_are_judged_alike_and_rightly() -> None:
    """Both evaluators judge every text alike, and as Go does but where we refuse on purpose."""
    for case in shared_lines("data/adversarial/ip/addresses_and_prefixes.jsonl"):
        answers = {
            PROGRAMS[case["kind"], evaluator].evaluate({"s": case["s"]})
            for evaluator in ("native", "reference")
        }
        assert len(answers) == 1, case["s"]
        if case.get("valid") is not None and not any(
            mark in case["s"] for mark in ZONES_AND_DOTTED
        ):
            assert answers == {case["valid"]}, case["s"]


@pytest.mark.parametrize("evaluator", ["native", "reference"])
@pytest.mark.parametrize(
    "text", ["127.1", "010.0.0.1", "1.2.3.4 ", "１.2.3.4", "::1%eth0", "[::1]", "1.2.3.4/33"]
)
def test_near_addresses_are_none(text: str, evaluator: str) -> None:
    """Short, octal, padded, full-width, zoned and bracketed forms aren't addresses."""
    assert PROGRAMS["address", evaluator].evaluate({"s": text}) is False
    assert PROGRAMS["prefix", evaluator].evaluate({"s": text}) is False
