"""Tiers of tests: each test has one, and a bare machine can run the tests of the bare one."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from tests.tiers import KINDS, SMOKE, Tier, Watch, kind, require, tier
from tests.tiers.programs import NEEDED, missing

MOST_SMOKE = 60
"""Tests through processes in `make test`: a smoke, and no second suite."""


@pytest.fixture
def watch(request: pytest.FixtureRequest) -> Watch:
    """The watch over this run."""
    found = request.config.pluginmanager.get_plugin("tiers")
    assert isinstance(found, Watch)
    return found


def test_tiers_are_disjoint_and_together_are_everything(watch: Watch) -> None:
    """Each collected test is in the bare tier, or starts a program that the bare tier doesn't."""
    for name, fixtures in watch.every.items():
        others = set(fixtures) & {*NEEDED}
        starts = "process" in fixtures and SMOKE not in fixtures
        assert (tier(fixtures) is Tier.BARE) is not bool(others or starts), name
    assert sum(SMOKE in fixtures for fixtures in watch.every.values()) <= MOST_SMOKE


@pytest.mark.parametrize("needed", KINDS)
def test_a_test_that_starts_a_program_is_not_bare(needed: str) -> None:
    """Any fixture of a program puts a test into the whole run; the smoke may start Python."""
    assert tier(["tmp_path", needed]) is Tier.WHOLE
    assert tier(["tmp_path", SMOKE, "process"]) is Tier.BARE
    assert tier(["tmp_path"]) is Tier.BARE
    expected = Tier.BARE if needed == "process" else Tier.WHOLE
    assert tier([SMOKE, "process", needed]) is expected


def test_a_program_is_started_only_by_a_test_that_asks_for_its_fixture() -> None:
    """This test asks for none, so it can start nothing."""
    with pytest.raises(AssertionError, match="asks for the fixture `process`"):
        subprocess.run([sys.executable, "-c", ""], check=True)
    with pytest.raises(AssertionError, match="asks for the fixture `proxy`"):
        subprocess.run(["/usr/sbin/nginx", "-v"], check=True)


@pytest.mark.parametrize(
    ("program", "needed"),
    [
        (sys.executable, "process"),
        ("git", "process"),
        ("/usr/bin/chromium", "browser"),
        ("/usr/lib/postgresql/15/bin/pg_basebackup", "postgresql"),
        ("nginx", "proxy"),
        ("/opt/bin/envoy", "proxy"),
        ("nats-server", "broker"),
        ("/usr/sbin/nft", "namespace"),
        ("node", "node"),
    ],
)
def test_each_program_has_a_fixture(program: str, needed: str) -> None:
    """A fixture for one program doesn't allow another; each allows Python."""
    assert kind(program) == needed
    require(program, [needed])
    require(sys.executable, [needed])
    with pytest.raises(AssertionError):
        require(program, [each for each in KINDS if each != needed] if needed != "process" else [])


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test-all` says what to install before it runs anything."""
    monkeypatch.setattr(shutil, "which", lambda name, path: None if name == "initdb" else name)
    assert list(missing()) == [("initdb", "postgresql")]
