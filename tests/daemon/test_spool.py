"""The spool of a daemon: what it keeps, and how it goes on after its disk failed it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
from tests.daemon.disk import full_disk

from tidegate_server.daemon.spool import NAME, Spool
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.decision_log.lines import LogBlock, encode_index, encode_line

ROOM = 64 * 1024 * 1024
TENANT = UUID(int=1)
STEP = 997
"""Distance of the bytes of a spool that are changed, one at a time."""


def entry(number: int) -> LogBlock:
    """A decision."""
    name = str(UUID(int=number))
    line = encode_line(
        name, number, None, b"null", "runtime", None, 1, 5, b"{}", b"{}", b"[]", b"{}"
    )
    index = encode_index(
        str(TENANT), name, number, None, None, number, "allow", "no-match", None, "/", [], [], []
    )
    return LogBlock.of_one(TENANT, UUID(int=number), number, line, index)


def numbers(spool: Spool) -> list[int]:
    """The numbers of what waits."""
    found = []
    while (row := spool.read(found[-1] if found else spool.acknowledged, 100)) is not None:
        found += range(row.first, row.first + len(row.lines))
    return found


def test_what_cannot_be_written_is_counted_once(tmp_path: Path) -> None:
    """A count of dropped decisions that fails is as if it had not been, until it succeeds."""
    with closing(Spool(tmp_path, ROOM)) as spool:
        spool.append([entry(1)]).result()
        with full_disk():
            with pytest.raises(StoreUnavailableError):
                spool.append([entry(2)]).result()
            assert spool.drop(1).exception() is not None
        spool.recover()
        spool.drop(1).result()
        spool.append([entry(3)]).result()
        assert (spool.dropped, numbers(spool)) == (1, [1, 2])
    with closing(Spool(tmp_path, ROOM)) as spool:
        assert spool.dropped == 1


def test_a_spool_begun_anew_keeps_its_numbers_when_the_disk_fails_later(tmp_path: Path) -> None:
    """A spool that replaced a damaged one goes on after a failed write where it was."""
    (tmp_path / NAME).write_bytes(b"no database" * 1_000)
    with closing(Spool(tmp_path, ROOM)) as spool:
        assert spool.damaged is not None
        spool.append([entry(1)]).result()
        spool.acknowledge(1)
        with full_disk(), pytest.raises(StoreUnavailableError):
            spool.append([entry(2)]).result()
        spool.recover()
        assert (spool.last, spool.acknowledged) == (1, 1)
        spool.append([entry(3)]).result()
        assert numbers(spool) == [2]


def test_a_spool_with_any_damaged_byte_is_taken_up_or_begun_anew(tmp_path: Path) -> None:
    """Whatever byte is changed, decisions are kept and read afterwards."""
    with closing(Spool(tmp_path, ROOM)) as spool:
        for number in range(1, 21):
            spool.append([entry(number)]).result()
    whole = (tmp_path / NAME).read_bytes()
    for at in range(0, len(whole), STEP):
        folder = tmp_path / str(at)
        folder.mkdir()
        changed = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        (folder / NAME).write_bytes(changed)
        with closing(Spool(folder, ROOM)) as spool:
            before = numbers(spool)
            assert set(before) <= set(range(1, 21))
            spool.append([entry(99)]).result()
            assert numbers(spool)[-1] == spool.last
