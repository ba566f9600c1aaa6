"""Where a database may lie, and which library may open it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate_server.stores.base import StoreUnavailableError, UnsafeDatabaseError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.rows.connections import check_version, database_path
from tidegate_server.stores.sqlite import SqliteStore


@pytest.mark.parametrize("version", [(3, 7, 0), (3, 40, 1), (3, 51, 2)])
def test_a_library_that_corrupts_its_log_is_refused(version: tuple[int, int, int]) -> None:
    """The WAL-reset fault is in SQLite 3.7.0 to 3.51.2."""
    with pytest.raises(UnsafeDatabaseError, match="corrupt"):
        check_version(version)


@pytest.mark.parametrize("version", [(3, 51, 3), (3, 53, 4), (4, 0, 0)])
def test_a_sound_library_is_taken(version: tuple[int, int, int]) -> None:
    """SQLite 3.51.3, which has the repair, is accepted."""
    check_version(version)


def test_a_library_before_the_fault_is_too_old() -> None:
    """A library without the functions of the index step is refused."""
    with pytest.raises(UnsafeDatabaseError, match="too old"):
        check_version((3, 6, 23))


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "postgresql://localhost/tidegate"]
)
def test_a_url_of_no_file_is_refused(url: str) -> None:
    """A database in memory is refused, since it keeps nothing."""
    with pytest.raises(ValueError, match="names no file"):
        database_path(url)


@pytest.mark.parametrize(("of", "mode"), [("file", 0o644), ("file", 0o660), ("directory", 0o777)])
def test_a_file_that_others_may_touch_is_refused(tmp_path: Path, of: str, mode: int) -> None:
    """Redacted or not, decisions are about people."""
    path = tmp_path / "data" / "tidegate.db"
    url = f"sqlite:///{path}"
    migrate(url)
    (path if of == "file" else path.parent).chmod(mode)
    with pytest.raises(UnsafeDatabaseError, match="others may"):
        SqliteStore(url)


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    """A mistyped path is a mistake, not a new service."""
    with pytest.raises(StoreUnavailableError, match="tidegate migrate"):
        SqliteStore(f"sqlite:///{tmp_path}/none.db")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """A file that is not a database is refused and left unchanged."""
    path = tmp_path / "notes.db"
    path.write_text("dear diary " * 100)
    path.chmod(0o600)
    with pytest.raises(StoreUnavailableError, match="not a database"):
        migrate(f"sqlite:///{path}")
    assert path.read_text().startswith("dear diary")
