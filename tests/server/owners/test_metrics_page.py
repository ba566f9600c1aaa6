"""The metrics page of several owners."""

from __future__ import annotations

from tidegate_server.owners.metrics_page import labelled

PAGE = b"""\
# TYPE tidegate_ready gauge
tidegate_ready 1
# TYPE tidegate_refusals_total counter
tidegate_refusals_total{code="rate-limited"} 3
"""


def test_samples_have_their_partition_and_a_family_stands_together() -> None:
    """Each family has one head, and each sample a label."""
    page = labelled({1: PAGE, 0: PAGE}).decode()
    assert page.count("# TYPE tidegate_ready gauge") == 1
    ready = 'tidegate_ready{partition="0"} 1\ntidegate_ready{partition="1"} 1\n'
    assert ready in page
    assert 'tidegate_refusals_total{partition="1",code="rate-limited"} 3\n' in page


def test_a_partition_whose_owner_does_not_answer_is_shown() -> None:
    """Its samples are missing, and a gauge says so."""
    page = labelled({0: PAGE, 1: None}).decode()
    answered = "tidegate_partition_answered"
    assert f'{answered}{{partition="0"}} 1\n{answered}{{partition="1"}} 0\n' in page
    assert 'tidegate_ready{partition="1"}' not in page
