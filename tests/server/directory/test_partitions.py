"""The files of partitions: made once, checked at each start, looked at by verify."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pysqlite3 import dbapi2
from tests.store_contract.examples import done, entry
from tests.stores.partition import open_partition

from tidegate_server.directory import verification
from tidegate_server.directory.opening import StrayPartError, open_directory
from tidegate_server.directory.partitions import claim_partition, need_partitions
from tidegate_server.directory.verification import Verification
from tidegate_server.stores.base import HeldError


def test_a_directory_keeps_its_partitions(directory: Path) -> None:
    """A start that asks for fewer serves all that there are, and one that asks for more adds."""
    assert need_partitions(directory, 1) == 2
    assert need_partitions(directory, 4) == 4
    assert need_partitions(directory, 1) == 4


def test_a_partition_has_one_owner(directory: Path) -> None:
    """A second process cannot have a partition that is owned, and can have another."""
    first = claim_partition(directory, 1)
    with pytest.raises(HeldError):
        claim_partition(directory, 1)
    claim_partition(directory, 0).release()
    first.release()
    claim_partition(directory, 1).release()


def test_a_missing_partition_with_tenants_is_refused(directory: Path) -> None:
    """Nothing is made in the place of a log that was lost."""
    (directory / "tidegate-1.db").unlink()
    with pytest.raises(StrayPartError, match="tenants live in it"):
        need_partitions(directory, 2)
    found = [each.part for each in Verification(directory).findings()]
    assert found == ["tidegate-1.db"]


def test_a_partition_of_another_directory_is_refused(directory: Path, tmp_path: Path) -> None:
    """A file that was copied from elsewhere is not taken for the directory's."""
    other = tmp_path / "other"
    open_directory(other)
    need_partitions(other, 2)
    shutil.copy(other / "tidegate-1.db", directory / "tidegate-1.db")
    for name in ("tidegate-1.db-wal", "tidegate-1.db-shm"):
        (directory / name).unlink(missing_ok=True)
    with pytest.raises(StrayPartError, match="another directory"):
        need_partitions(directory, 2)


def test_verify_looks_at_each_partition(directory: Path) -> None:
    """All decisions are looked at, and a changed row of a partition is a finding."""
    whole = Verification(directory)
    assert list(whole.findings()) == []
    assert whole.decisions == 5
    with dbapi2.connect(directory / "tidegate-1.db") as connection:
        connection.execute("UPDATE decision_log SET received_at_ns = 1 WHERE first_seq = 3")
    found = list(Verification(directory).findings())
    assert [(each.part, each.first_seq) for each in found] == [("decision_log", 3)]


def test_a_row_in_two_ranges_of_a_check_is_intact(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reads a long log in parts, and a row of many decisions may lie in two of them."""
    monkeypatch.setattr(verification, "CHUNK", 7)
    beside = open_partition(f"sqlite:///{directory}/tidegate.db")
    done(beside.append([entry(6), entry(7), entry(8)]))
    done(beside.append([entry(9)]))
    beside.index_now()
    beside.close()
    made = Verification(directory)
    assert list(made.findings()) == []
    assert made.decisions == 9
