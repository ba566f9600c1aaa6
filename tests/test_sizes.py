"""No room grows without a reason: ``tests/sizes.toml`` has the size that each may have."""

from __future__ import annotations

import pytest
from benchmarks import sizes
from benchmarks.sizes import Room


def test_each_room_fits_its_row() -> None:
    """No room is larger than its row, and no row much larger than its room."""
    found = sizes.differences(sizes.rooms(), sizes.table())
    assert not found, "tests/sizes.toml:\n" + "\n".join(found)


def test_the_product_is_read() -> None:
    """The table holds only if the sources of each part are found, and its tests are not."""
    found = list(sizes.product())
    for part in sizes.PARTS:
        assert [path for room, path in found if room.startswith(part)], part
    assert not [path for _, path in found if path.name == "tests.rs" or ".test." in path.name]


@pytest.mark.parametrize(
    ("room", "row", "said"),
    [
        (Room(950, 4), Room(1_000, 4), ""),
        (Room(801, 3), Room(1_000, 4), ""),
        (Room(1_001, 4), Room(1_000, 4), "raise the row and say why"),
        (Room(900, 5), Room(1_000, 4), "raise the row and say why"),
        (Room(800, 4), Room(1_000, 4), "lower the row"),
        (Room(950, 2), Room(1_000, 4), "lower the row"),
        (Room(10, 1), None, "give it a row"),
        (None, Room(100, 1), "delete its row"),
    ],
)
def test_a_row_changes_with_its_room(room: Room | None, row: Room | None, said: str) -> None:
    """A room may fill its row and shrink a little; otherwise the message says what to change."""
    found = sizes.differences(*({"a": each} if each else {} for each in (room, row)))
    assert len(found) == bool(said)
    assert not said or said in found[0]


@pytest.mark.parametrize(
    ("room", "row", "new"),
    [
        (Room(1_001, 5), Room(1_000, 4, "old"), Room(1_100, 5, "new")),
        (Room(790, 4), Room(1_000, 4, "old"), Room(800, 4, "old")),
        (Room(950, 4), Room(1_000, 4, "old"), Room(1_000, 4, "old")),
        (Room(10, 1), None, Room(100, 1, "new")),
    ],
)
def test_the_written_row_fits(room: Room, row: Room | None, new: Room) -> None:
    """A written row has the reason of the last growth, and changes only when it has to."""
    assert sizes.needed(room, row, "new") == new
