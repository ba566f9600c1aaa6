"""The engine as the caller sees it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from building import ADDRESS, ONCE, START, Build, document, event, policy

from tidegate.definitions import load_definitions
from tidegate.engine import Engine
from tidegate.errors import DefinitionsError, EventError

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator

WINDOW = {"duration_seconds": 60, "threshold": 400}


def test_definitions_come_as_mapping_path_or_loaded(build: Build, tmp_path: Path) -> None:
    """A mapping, a path and loaded definitions give the same engine."""
    made = document(entities=[ADDRESS])
    path = tmp_path / "definitions.json"
    path.write_bytes(orjson.dumps(made))
    for source in (made, path, str(path), load_definitions(made)):
        engine = Engine(source, build.evaluator)
        assert engine.definitions == load_definitions(made)


def test_refused_definitions_make_no_engine(build: Build) -> None:
    """Refused definitions raise an error with every finding."""
    with pytest.raises(DefinitionsError, match="unknown member `entitys`"):
        build(entitys=[])


def test_a_file_that_is_not_there_is_an_os_error(build: Build) -> None:
    """A missing file is an OSError, not a finding."""
    with pytest.raises(FileNotFoundError):
        Engine("no/such/file.yaml", build.evaluator)


def test_what_is_no_address_database_is_refused(build: Build, tmp_path: Path) -> None:
    """A file that isn't an address database is refused when the engine is made."""
    pytest.importorskip("maxminddb")
    path = tmp_path / "nonsense.mmdb"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="database"):
        Engine(document(), build.evaluator, address_databases=[path])


@pytest.mark.parametrize("received", [-1, -(2**63), -(10**30), 2**63, 10**30])
def test_any_time_of_arrival_is_a_time(build: Build, received: int) -> None:
    """A time of arrival outside 64 bits or before 1970 counts as the nearest valid one."""
    for decide in (lambda it: it.decide(event(), received), lambda it: _decide_json(it, received)):
        engine = build(entities=[ADDRESS])
        decide(engine)
        (key,) = orjson.loads(engine.snapshot())["keys"]
        assert key[3] == ("0" if received < 0 else str(2**63 - 1))


def _decide_json(engine: Engine, received: int) -> bytes:
    return engine.decide_json(orjson.dumps(event()), received)


FOREIGN = {"remote_addr": "192.0.2.1", "status": 200}
"""A line of another program's log."""


@pytest.mark.parametrize(
    ("refused", "pointer"),
    [
        ({}, ""),
        ({"source": "edge"}, ""),
        ({"request": {"path": None}, "fields": {}}, ""),
        (FOREIGN, "/remote_addr"),
        ({**event(), "feilds": {"status": "401"}}, "/feilds"),
    ],
)
def test_an_event_that_says_nothing_is_refused(build: Build, refused: Any, pointer: str) -> None:
    """Every way to decide, in each form, refuses it and remembers nothing of it."""
    engine = build(entities=[ADDRESS])
    body = orjson.dumps(refused)
    for attempt in (
        lambda: engine.decide(refused),
        lambda: engine.decide(body),
        lambda: engine.decide_json(body),
        lambda: engine.explain(refused),
    ):
        with pytest.raises(EventError) as error:
            attempt()
        assert error.value.pointer == pointer
    (answer,) = engine.decide_batch([body])
    assert isinstance(answer, EventError)
    assert not orjson.loads(engine.snapshot())["keys"]


def test_unknown_members_are_kept_out_where_that_is_wanted(evaluator: Evaluator) -> None:
    """Quietly; an event without content is refused all the same, also after new definitions."""
    made = document(entities=[ADDRESS])
    first = Engine(made, evaluator, events="lenient")
    for engine in (first, first.with_definitions(made)):
        assert engine.decide({**event(), **FOREIGN}).action.type == "allow"
        with pytest.raises(EventError, match="must hold something"):
            engine.decide(FOREIGN)
    assert Engine(made, evaluator, events="any").decide(FOREIGN).action.type == "allow"


def test_there_is_no_other_strictness(build: Build, evaluator: Evaluator) -> None:
    """A misspelt one would be the wrong one."""
    with pytest.raises(ValueError, match="strict"):
        Engine(document(), evaluator, events="stict")  # type: ignore[arg-type]


def test_a_batch_is_decided_in_order(build: Build) -> None:
    """A refused event stands in its place and stops nothing."""
    engine = build(
        entities=[ADDRESS],
        mitigations=[ONCE],
        policies=[
            policy(
                {
                    "entity": "address",
                    "mitigation": "once",
                    "window": {"duration_seconds": 60, "threshold": 2},
                }
            )
        ],
    )
    body = orjson.dumps(event())
    first, refused, second = engine.decide_batch([body, b"[]", body], START)
    assert first == b'{"action":{"type":"allow"},"reason":"no-match"}'
    assert isinstance(refused, EventError)
    assert orjson.loads(second)["action"]["type"] == "block"


def test_threads_may_share_an_engine(build: Build) -> None:
    """No event is lost and none counted twice."""
    engine = build(entities=[ADDRESS], policies=[policy({"entity": "address", "window": WINDOW})])
    fired: list[int] = []

    def work() -> None:
        fired.extend(len(engine.decide(event(), START).fired) for _ in range(100))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (key,) = orjson.loads(engine.snapshot())["keys"]
    assert (key[2], sum(fired)) == (400, 1)


def test_statistics_tell_what_is_held(build: Build) -> None:
    """Statistics give the keys held, their bound and evictions."""
    engine = build(entities=[ADDRESS], settings={"max_keys": 2})
    for last in range(3):
        engine.decide(event(ip=f"192.0.2.{last}"))
    assert engine.stats() == {
        "keys": 2,
        "max_keys": 2,
        "evictions_total": 1,
        "evictions_mitigated": 0,
    }
