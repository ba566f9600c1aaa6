"""Copies of a data directory: backups, and directories made from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tidegate_server.cli.service.backup import backup, restore
from tidegate_server.directory.backup import OccupiedError, copy_directory
from tidegate_server.directory.opening import open_directory
from tidegate_server.directory.verification import Verification
from tidegate_server.stores.base import StoreUnavailableError


def test_a_copy_is_a_whole_directory(directory: Path, tmp_path: Path) -> None:
    """All partitions, keys and marks are in it, for its owner alone; the locks stay behind."""
    copy = tmp_path / "copies" / "monday"
    names = copy_directory(directory, copy)
    assert {"identity", "tidegate.db", "tidegate-1.db", "tidegate-1.db-mark"} <= set(names)
    assert any(name.startswith("keys/") for name in names)
    assert not [name for name in names if "lock" in name]
    made = Verification(copy)
    assert list(made.findings()) == []
    assert made.decisions == 5
    assert open_directory(copy) == open_directory(directory)
    modes = {path.stat().st_mode & 0o777 for path in (copy, *copy.rglob("*"))}
    assert modes == {0o700, 0o600}


def test_the_file_with_the_definitions_is_copied_last(directory: Path, tmp_path: Path) -> None:
    """A decision in the copy never names definitions that the copy lacks."""
    order: list[str] = []
    copy_directory(directory, tmp_path / "copy", order.append)
    assert order[-1] == "tidegate.db"
    assert order.index("tidegate-1.db-mark") < order.index("tidegate-1.db")


def test_nothing_is_replaced(directory: Path, tmp_path: Path) -> None:
    """A copy into a directory with a file is refused; an empty directory is taken."""
    target = tmp_path / "copy"
    target.mkdir()
    (target / "notes").touch()
    with pytest.raises(OccupiedError, match="notes"):
        copy_directory(directory, target)
    (target / "notes").unlink()
    copy_directory(directory, target)
    assert list(Verification(target).findings()) == []


def test_an_interrupted_copy_leaves_nothing(directory: Path, tmp_path: Path) -> None:
    """A backup is never half of one."""

    def stop(name: str) -> None:
        if name == "tidegate.db":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_directory(directory, tmp_path / "copies" / "copy", stop)
    assert list((tmp_path / "copies").iterdir()) == []


def test_another_directory_is_no_source(tmp_path: Path) -> None:
    """The message says what is missing."""
    with pytest.raises(StoreUnavailableError, match="keys"):
        copy_directory(tmp_path, tmp_path / "copy")


def test_a_backup_is_restored(directory: Path, tmp_path: Path) -> None:
    """The two commands say what they did, and the restored directory is intact."""
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    made = CliRunner().invoke(backup, [str(copy), "--store-directory", str(directory)])
    assert made.exit_code == 0, made.output
    made = CliRunner().invoke(restore, [str(copy), "--store-directory", str(restored)])
    assert made.exit_code == 0, made.output
    assert f"{copy} is restored to {restored}" in made.stdout.replace("\n", " ")
    assert list(Verification(restored).findings()) == []


def test_a_damaged_backup_is_not_restored(directory: Path, tmp_path: Path) -> None:
    """The finding is named, and the directory stays as it was."""
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    copy_directory(directory, copy)
    (copy / "tidegate-1.db").unlink()
    made = CliRunner().invoke(restore, [str(copy), "--store-directory", str(restored)])
    assert made.exit_code == 1
    assert "tidegate-1.db" in made.output
    assert not restored.exists()


def test_a_database_elsewhere_is_left_to_its_own_tools(directory: Path, tmp_path: Path) -> None:
    """Keys and identity are copied, and the command says that the database isn't."""
    copy = tmp_path / "copy"
    url = "postgresql://tidegate@127.0.0.1/tidegate"
    arguments = [str(copy), "--store-directory", str(directory), "--store-url", url]
    made = CliRunner().invoke(backup, arguments)
    assert made.exit_code == 0, made.output
    assert "pg_dump" in made.stderr
    assert {path.name for path in copy.iterdir()} == {"identity", "keys"}
