"""The field catalog: learned from every decision, within bounds, once."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.shared_data import shared_lines, size
from tests.store_contract.examples import (
    OTHER_TENANT,
    START_NS,
    TENANT,
    done,
    entry,
)

from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.index import catalog, derived
from tidegate_server.stores.index.catalog import MAX_NAME_CHARACTERS, Bounds
from tidegate_server.stores.index.counting import LearnedNames
from tidegate_server.stores.sqlite import SqliteStore

SECTIONS = ("headers", "query_params", "cookies", "route_params")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A new database."""
    url = f"sqlite:///{tmp_path}/data/tidegate.db"
    migrate(url)
    return url


@pytest.fixture
def store(url: str) -> Iterator[SqliteStore]:
    """A store whose catalog may hold almost nothing at once."""
    store = SqliteStore(url, catalog=Bounds(names=5, bytes=1))
    yield store
    store.close()


def known(store: SqliteStore) -> dict[str, catalog.CatalogField]:
    with store.read() as connection:
        return {each.name: each for each in catalog.fields(connection, TENANT)}


def events(numbers: range) -> list[Any]:
    return [entry(number, event={"fields": {"n": str(number)}}) for number in numbers]


def test_a_step_that_breaks_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learned names and their position are one transaction; a step that breaks is made again."""

    def break_off(*_: object) -> None:
        raise StoreUnavailableError("broken off")

    store = SqliteStore(url)
    done(store.append(events(range(10))))
    with monkeypatch.context() as patched:
        patched.setattr(derived, "set_learned_seq", break_off)
        with pytest.raises(StoreUnavailableError, match="broken off"):
            store.learn_now()
        assert known(store) == {}
    store.learn_now()
    store.close()
    store = SqliteStore(url)
    done(store.append(events(range(10, 20))))
    store.learn_now()
    assert (known(store)["fields.n"].events, known(store)["fields.n"].present) == (20, 20)
    assert known(store)["fields.n"].distinct_estimate == 20
    assert store.statistics().learned_seq == 20
    store.close()


def test_it_learns_though_nobody_asks(url: str) -> None:
    """A store learns by itself, in the background."""
    store = SqliteStore(url)
    done(store.append(events(range(10))))
    until = time.monotonic() + 60
    while store.statistics().learned_seq < 10 and time.monotonic() < until:
        time.sleep(0.05)
    assert known(store)["fields.n"].events == 10
    assert store.statistics().learning_seconds > 0
    store.close()


def test_a_step_ends_when_it_holds_too_much(store: SqliteStore) -> None:
    """One step after the other learns everything, each within the memory that it may take."""
    for tenant in (TENANT, OTHER_TENANT, TENANT):
        done(store.append([entry(1, tenant, event={"fields": {"a": "x"}})]))
    steps = 0
    learned = 0
    while learned < 3:
        step = store.derive(lambda connection: catalog.learn(connection, 3, Bounds(bytes=1)))
        learned = done(step)
        steps += 1
    assert steps == 3
    assert known(store)["fields.a"].events == 2


def test_a_tenant_has_so_many_names(store: SqliteStore) -> None:
    """The bound is a setting, and names past it are left out."""
    done(store.append([entry(1, event={"fields": {f"n{number}": "x" for number in range(9)}})]))
    store.learn_now()
    assert len(known(store)) == 5


def test_the_longest_name_is_the_same_on_both_sides() -> None:
    """The extension learns names up to the bound that pages of the catalog count on."""
    for length in (MAX_NAME_CHARACTERS, MAX_NAME_CHARACTERS + 1):
        learned = LearnedNames([], 9)
        event = '{"received_at":1,"endpoint":"beacon","event":{"fields":{"%s":1}}}'
        learned.learn((event % ("ä" * length)).encode())
        assert len(learned.names()) == (length == MAX_NAME_CHARACTERS)


def test_every_name_of_traffic_is_learned_and_counted(url: str) -> None:
    """All names of recorded traffic, exact numbers of events, and distinct values about right."""
    lines = shared_lines("data/traffic/events.jsonl.gz", step=size(16, 1))
    present, values = Counter[str](), defaultdict[str, set[str]](set)
    store = SqliteStore(url)
    blocks = []
    for number, line in enumerate(lines):
        for name, value in captured(line):
            present[name] += 1
            values[name].add(str(value))
        blocks.append(entry(number, received_at_ns=START_NS + number, event=line))
    for start in range(0, len(blocks), 500):
        done(store.append(blocks[start : start + 500]))
    store.learn_now()
    found = known(store)
    assert {name: each.present for name, each in found.items()} == present
    assert {each.events for each in found.values()} == {len(lines)}
    for name, each in found.items():
        count = len(values[name])
        # Five times the typical error; below some hundred values there is hardly any.
        assert abs(each.distinct_estimate - count) <= max(1, 0.08 * count), name
    store.close()


def captured(event: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The names in an event with their values, said once more and slowly."""
    request = event.get("request") or {}
    parts = {f"request.{each}": request.get(each) for each in SECTIONS}
    parts["fields"] = event.get("fields")
    for prefix, members in parts.items():
        for name, value in (members or {}).items():
            if value not in (None, "") and len(name) <= MAX_NAME_CHARACTERS:
                plain = name.lower() if prefix == "request.headers" else name
                yield f"{prefix}.{plain}", value
