"""``tidegate cluster``, while nodes run."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
from click.testing import CliRunner
from tests.cluster.calling import calling
from tools.cluster import EVENT, Cluster, cluster

from tidegate.cli.main import tidegate

pytestmark = pytest.mark.usefixtures("postgresql")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes."""
    with cluster(tmp_path_factory.mktemp("cluster"), "ab") as running:
        yield running


def test_the_status_says_who_follows_and_whether_it_is_level(made: Cluster) -> None:
    """One partition has its owner and its follower on a line, as several have."""
    made.wait_until_level()
    arguments = ["cluster", "status", "--store-url", made.url]
    shown = CliRunner().invoke(tidegate, arguments)
    assert shown.exit_code == 0, shown.output
    owner, (other,) = made.owner().name, made.others()
    lines = [line.split() for line in shown.output.splitlines()]
    assert [owner, "owner"] in [line[:2] for line in lines]
    assert [other.name, "follower"] in [line[:2] for line in lines]
    assert ["0", owner, other.name, "level"] in [line[:4] for line in lines]


def test_a_node_is_drained_while_calls_go_on(made: Cluster) -> None:
    """The other node takes over, calls wait for it, and the drained one ends with 0."""
    owner, (other,) = made.owner(), made.others()
    with calling(made, other, 2) as calls:
        arguments = ["cluster", "drain", owner.name, "--store-url", made.url]
        drained = CliRunner().invoke(tidegate, arguments)
    assert drained.exit_code == 0, drained.output + str(drained.exception)
    assert f"{owner.name} has stopped" in drained.output
    calls.require_hold()
    assert owner.process is not None
    assert owner.process.wait(60) == 0
    shown = CliRunner().invoke(tidegate, ["cluster", "status", "--store-url", made.url, "--json"])
    document = orjson.loads(shown.output)
    assert document["owner"] == other.name
    assert document["epoch"] >= 2
    assert {each["name"]: each["is_connected"] for each in document["nodes"]} == {
        owner.name: False,
        other.name: True,
    }
    again = CliRunner().invoke(tidegate, ["cluster", "drain", other.name, "--store-url", made.url])
    assert again.exit_code == 1
    assert "no other node could take over" in str(again.exception)
    owner.start()
    made.wait_until_ready()


def test_the_log_is_moved_to_a_node_while_calls_go_on(made: Cluster) -> None:
    """Both nodes go on, the named one as the owner; a second time there is nothing to do."""
    owner, (other,) = made.owner(), made.others()
    arguments = ["cluster", "move", other.name, "--store-url", made.url]
    with calling(made, owner, 2) as calls:
        moved = CliRunner().invoke(tidegate, arguments)
    assert moved.exit_code == 0, moved.output + str(moved.exception)
    assert moved.output == f"{other.name} is the owner\n"
    calls.require_hold()
    assert made.owner() is other
    assert owner.runs
    assert CliRunner().invoke(tidegate, arguments).output == moved.output


@pytest.mark.parametrize("command", ["drain", "move"])
def test_a_node_that_is_not_there_is_refused(made: Cluster, command: str) -> None:
    """The message names those that are."""
    asked = CliRunner().invoke(tidegate, ["cluster", command, "z", "--store-url", made.url])
    assert asked.exit_code == 1
    assert "there is no node named `z`; there are a, b" in str(asked.exception)


def test_a_second_process_of_one_name_is_refused(made: Cluster) -> None:
    """It ends with 1 and says why; the node goes on."""
    node = made.nodes["b"]
    second = type(node)(node.name, node.directory, node.url)
    second.start()
    assert second.process is not None
    assert second.process.wait(60) == 1
    assert "a node named `b` is connected" in second.log.read_text()
    assert made.decide(node, EVENT).status_code == 200
