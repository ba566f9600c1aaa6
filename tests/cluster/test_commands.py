"""``tidegate cluster``, beside nodes that run."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
from click.testing import CliRunner
from tests.cluster.calling import calling
from tools.cluster import EVENT, Cluster, cluster
from tools.database_pair import NEEDED, programs

from tidegate.cli.main import tidegate

pytestmark = pytest.mark.skipif(
    programs() is None, reason=f"PostgreSQL {NEEDED} or newer is not installed"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes."""
    with cluster(tmp_path_factory.mktemp("cluster"), "ab") as running:
        yield running


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


def test_a_node_that_is_not_there_cannot_be_drained(made: Cluster) -> None:
    """The message names those that are."""
    drained = CliRunner().invoke(tidegate, ["cluster", "drain", "z", "--store-url", made.url])
    assert drained.exit_code == 1
    assert "there is no node named `z`; there are a, b" in str(drained.exception)


def test_a_second_process_of_one_name_is_refused(made: Cluster) -> None:
    """It ends with 1 and says why; the node goes on."""
    node = made.nodes["b"]
    second = type(node)(node.name, node.directory, node.url)
    second.start()
    assert second.process is not None
    assert second.process.wait(60) == 1
    assert "a node named `b` is connected" in second.log.read_text()
    assert made.decide(node, EVENT).status_code == 200
