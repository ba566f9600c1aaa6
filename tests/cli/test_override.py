"""``tidegate ban``, ``allow`` and ``override``: answers by hand from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import click
import pytest
from click.testing import CliRunner, Result
from tests.server.serving import Caller, Served

from tidegate.errors import TidegateError
from tidegate_server.cli.remote.override import allow, ban, override

Run: TypeAlias = Callable[..., Result]
HOW = ("--for", "2h", "--reason", "scraping")


@pytest.fixture
def run(served: Served, owner: Caller) -> Run:
    """The commands of an Owner of one tenant."""

    def run(command: click.Command, *arguments: str) -> Result:
        flags = ["--url", served.base_url, "--token", owner.token]
        result = CliRunner().invoke(command, [*arguments, *flags])
        if isinstance(result.exception, TidegateError):
            raise result.exception
        return result

    return run


def listed(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(override, "list", "--json").stdout)
    return found


def test_a_network_is_banned_listed_and_ended(run: Run) -> None:
    """A ban says until when, is listed with author and reason, and ends by its target."""
    assert run(ban, "203.0.113.0/24", *HOW).stdout.startswith("banned 203.0.113.0/24 until 20")
    line = run(override, "list").stdout
    assert "  ban  203.0.113.0/24  until " in line
    assert "@example.test: scraping" in line
    assert run(override, "end", "203.0.113.0/24").stdout == "ended Ban 203.0.113.0/24\n"
    assert listed(run) == []


def test_an_address_is_let_through_for_as_long_as_it_says(run: Run) -> None:
    """The duration counts from now."""
    made = json.loads(run(allow, "2001:db8::7", *HOW, "--json").stdout)
    assert (made["kind"], made["network"]) == ("allow", "2001:db8::7")
    assert made["starts_at"] < made["ends_at"]


def test_an_entity_is_meant_by_its_id_or_by_definition_and_key(
    run: Run, owner: Caller, tenant: str
) -> None:
    """A target that names no entity definition is refused with those there are."""
    run(ban, "0190f1c4-0000-7000-8000-000000000001", *HOW)
    assert listed(run)[0]["entity_id"] == "0190f1c4-0000-7000-8000-000000000001"
    with pytest.raises(TidegateError, match="no entity definition is called `nobody`"):
        run(ban, "nobody=ann", *HOW)


@pytest.mark.parametrize("target", ["somebody", "300.1.1.1", ""])
def test_another_target_is_refused(run: Run, target: str) -> None:
    """Only addresses, networks, ids and keys of entities are targets."""
    with pytest.raises(TidegateError, match="isn't an address, a network"):
        run(ban, target, *HOW)


@pytest.mark.parametrize("duration", ["0s", "tomorrow", "-2h"])
def test_another_duration_is_refused(run: Run, duration: str) -> None:
    """A duration that isn't at least a second is a mistake of the command line."""
    result = run(ban, "203.0.113.9", "--reason", "scraping", f"--for={duration}")
    assert result.exit_code == 2
    assert "isn't a duration such as 2h" in result.output


def test_ending_nobody_is_refused(run: Run) -> None:
    """Ending needs exactly one override that is meant."""
    with pytest.raises(TidegateError, match=r"no override is for `203\.0\.113\.9`"):
        run(override, "end", "203.0.113.9")
