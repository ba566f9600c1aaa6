"""A data directory with two partitions."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from tests.store_contract.examples import TENANT, done, entry, tenant
from tests.stores.partition import open_partition

from tidegate_server.directory.opening import open_directory
from tidegate_server.directory.partitions import need_partitions
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.sqlite import SqliteStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with two partitions; a tenant lives in the second, and has decisions."""
    made = tmp_path / "data"
    open_directory(made)
    assert need_partitions(made, 2) == 2
    url = f"sqlite:///{made}/tidegate.db"
    placed = attrs.evolve(tenant(TENANT), partition_id=1)
    store = SqliteStore(url)
    done(store.write(lambda c: tenants.create(c, placed)))
    store.close()
    beside = open_partition(url)
    for number in range(1, 6):
        done(beside.append([entry(number)]))
    beside.index_now()
    beside.close()
    return made
