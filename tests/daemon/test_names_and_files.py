"""Hostile names given to the command line, and hostile states of a daemon's folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner
from tests.shared_data import shared_lines

from tidegate.cli.main import tidegate
from tidegate.daemon import home
from tidegate.daemon.private import PrivateFileError

CASES = shared_lines("data/adversarial/cli/names_and_files.jsonl")
NAMES = [case["name"] for case in CASES if "name" in case]
NAMED = {case["fs_state"] for case in CASES if "fs_state" in case}
TENANT = UUID("018f0000-0000-7000-8000-000000000001")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_kind_touches_no_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``tidegate sync NAME`` refuses what is no kind before it looks at the folder."""
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    result = CliRunner().invoke(tidegate, ["sync", name])
    assert result.exit_code == (0 if name == "--help" else 2), result.output
    assert list(tmp_path.iterdir()) == []


def _replaced(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """A state of the credentials, which are taken away first."""

    def state(folder: Path) -> None:
        path = folder / home.CREDENTIALS
        path.unlink()
        make(path)

    return state


def _parent_is_link(folder: Path) -> None:
    folder.rename(folder.with_name("real"))
    folder.symlink_to(folder.with_name("real"))


def _sparse(path: Path) -> None:
    path.touch(0o600)
    os.truncate(path, 4 << 30)


STATES: dict[str, Callable[[Path], None]] = {
    "parent_dir_is_symlink": _parent_is_link,
    "hard_link_to_other_users_file": lambda folder: os.link(
        folder / home.CREDENTIALS, folder / "second"
    ),
    "directory_in_place_of_file": _replaced(Path.mkdir),
    "dangling_symlink": _replaced(lambda path: path.symlink_to("nowhere")),
    "symlink_loop": _replaced(lambda path: path.symlink_to(path)),
    "file_group_readable_0640": lambda folder: (folder / home.CREDENTIALS).chmod(0o640),
    "dir_world_writable_0777": lambda folder: folder.chmod(0o777),
    "file_is_dev_zero": _replaced(lambda path: path.symlink_to("/dev/zero")),
    "file_4GiB_sparse": _replaced(_sparse),
}


@pytest.mark.parametrize("state", sorted(NAMED & STATES.keys()))
def test_a_folder_in_a_hostile_state_is_refused(state: str, tmp_path: Path) -> None:
    """Nothing is read through a link, from what others may open, or without a bound."""
    folder = tmp_path / "home"
    home.make(folder, "http://127.0.0.1:9", "a-key", TENANT)
    STATES[state](folder)
    with pytest.raises(PrivateFileError, match="`"):
        home.load(folder)


def test_a_folder_is_made_whatever_the_umask_and_its_name(tmp_path: Path) -> None:
    """The modes are 0700 and 0600 under any umask, and a line feed in the path is no matter."""
    folder = tmp_path / "a\nb"
    for mask in (0o000, 0o077):
        before = os.umask(mask)
        try:
            home.make(folder, "http://127.0.0.1:9", "a-key", TENANT)
        finally:
            os.umask(before)
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / home.CREDENTIALS).stat().st_mode & 0o777 == 0o600
    assert home.load(folder).api_key == "a-key"
