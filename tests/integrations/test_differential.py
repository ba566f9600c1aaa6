"""Spellings of addresses through real proxies, as their examples are set up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integrations.differential.fronts import FRONTS
from tests.integrations.differential.runs import Judge, judging, run
from tests.integrations.differential.spellings import Spelling, every, spread

COUNT = 400


@pytest.fixture(scope="module")
def judge(process: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """A service that all proxies ask, one after the other."""
    with judging(tmp_path_factory.mktemp("differential")) as made:
        yield made


@pytest.mark.parametrize("front", FRONTS)
def test_an_address_is_served_as_it_was_judged_or_refused(
    front: str, proxy: None, judge: Judge, tmp_path: Path
) -> None:
    """No spelling reaches the site as another address than the one that rules saw."""
    report = run(front, spread(COUNT), judge, tmp_path)
    assert report.differences == []
    assert report.spellings == COUNT
    assert COUNT // 5 < report.served < COUNT


@pytest.mark.parametrize("front", FRONTS)
def test_a_difference_would_be_seen(front: str, proxy: None, judge: Judge, tmp_path: Path) -> None:
    """An ordinary address is served, so the harness compares something."""
    plain = [Spelling(b"GET /%61/b?c=%2f HTTP/1.1"), Spelling(b"GET / HTTP/1.1", b"a.test:80")]
    report = run(front, plain, judge, tmp_path)
    assert (report.served, report.differences) == (2, [])


def test_there_are_20_000_spellings() -> None:
    """`python -m tests.integrations.differential` sends more than 20,000, all different."""
    assert len(set(every())) > 20_000
