"""One body, every implementation: fixtures that run a test once for each evaluator."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import settings
from tests.shared_data import DataReaders
from tests.tiers import Tier, Watch
from tests.tiers.needs import broker, editor, namespace, node, postgresql, process, proxy, smoke

__all__ = [
    "broker",
    "editor",
    "evaluator",
    "namespace",
    "node",
    "postgresql",
    "process",
    "proxy",
    "smoke",
]

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator

# The same examples in every run: a failure found by chance belongs in the corpus.
settings.register_profile("tidegate", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("tidegate")

# By default lines of the log go to the standard output, where commands print results.
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))

LONG = (
    "tests/newcomer/test_newcomer.py",
    "tests/service/test_api_fuzz.py",
    "tests/attack/test_attack.py",
    "tests/console/test_controls.py",
    "tests/cluster/test_upgrade.py",
    "tests/smoke/test_commands.py",
    "tests/cli/test_hooks.py",
    "tests/service/hostile/test_marked_places.py",
    "tests/service/test_raw_connections.py",
    "tests/console/test_access.py",
    "tests/server/alerts/test_service.py",
    "tests/hybrid/test_schedules.py",
    "tests/simulation/test_schedule.py",
    "tests/faults/test_kill.py",
    "tests/cluster/test_faults.py",
    "tests/cli/test_init.py",
    "tests/console/test_play.py",
    "tests/console/test_states.py",
    "tests/console/test_login.py",
    "tests/service/hostile/test_hostile_input.py",
    "tests/console/test_demonstration.py",
    "tests/server/publishing/test_json_lines.py",
    "tests/console/stories/test_story_by_keys.py",
    "tests/console/stories/test_alarm.py",
    "tests/edge/test_hostile.py",
    "tests/console/test_interface.py",
    "tests/stores/test_postgresql.py",
    "tests/service/test_access_matrix.py",
    "tests/server/challenges/test_pages.py",
    "tests/cluster/test_partitions.py",
    "tests/integrations/test_browser.py",
    "tests/cluster/test_nodes.py",
    "tests/stores/test_sqlite.py",
    "tests/server/turns/test_beside.py",
    "tests/policy/test_calls.py",
    "tests/policy/test_decision_agreement.py",
)
"""The files that take longest, of `--durations`; they are begun first."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--bare``: only the tests that need nothing but Python and Rust."""
    parser.addoption("--bare", action="store_true", help="only tests that start no other programs")
    parser.addoption("--reading-data", action="store_true", help="only files that read data sets")


def pytest_configure(config: pytest.Config) -> None:
    """Hold tests to the fixtures of the programs that they start."""
    only = Tier.BARE if config.getoption("bare") else None
    config.pluginmanager.register(Watch(only), "tiers")
    if config.getoption("reading_data"):
        config.pluginmanager.register(DataReaders(), "data")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests of long files first: begun last, one of them would go on alone."""
    places = {config.rootpath / path: at for at, path in enumerate(LONG)}
    for path in places:
        if not path.is_file():
            raise pytest.UsageError(f"{path} is among the long files, and is not there")
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(params=["reference", "native"])
def evaluator(request: pytest.FixtureRequest) -> Evaluator:
    """The name of an evaluator; the test runs once for each."""
    chosen: Evaluator = request.param
    return chosen


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """Logging as it was before the test: commands that run in this process set it up for it."""
    root, usual = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers, root.level
    yield
    structlog.configure(**usual)
    root.handlers, root.level = handlers, level
