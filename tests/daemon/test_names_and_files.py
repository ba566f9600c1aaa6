"""Hostile names given to the command line, and hostile states of a daemon's folder."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner, Result
from tests.daemon.disk import full_disk
from tests.shared_data import shared_lines

from tidegate.cli.main import tidegate
from tidegate_server.daemon import home, private
from tidegate_server.daemon.private import PrivateFileError

CASES = shared_lines("data/adversarial/cli/names_and_files.jsonl")
NAMES = [case["name"] for case in CASES if "name" in case]
NAMED = {case["fs_state"] for case in CASES if "fs_state" in case}
SWAPS = 2_000
TENANT = UUID("018f0000-0000-7000-8000-000000000001")


@pytest.fixture(autouse=True)
def fresh_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import the commands again: they read the settings file when they are imported.

    A daemon of another test's settings would run, and never end.
    """
    for name in [each for each in sys.modules if each.startswith("tidegate_server.cli.hybrid.")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_kind_touches_no_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``tidegate sync NAME`` refuses an unknown kind before it looks at the folder."""
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


INIT = [
    "init",
    "--api-base",
    "http://127.0.0.1:9",
    "--api-key",
    "a-key",
    "--tenant-id",
    str(TENANT),
]


def init(folder: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """``tidegate init`` into a folder."""
    monkeypatch.setenv("TIDEGATE_HOME", folder)
    return CliRunner().invoke(tidegate, INIT)


def modes(folder: Path) -> dict[str, int]:
    """The modes of each path in a folder, and of the folder itself."""
    return {each.name: each.stat().st_mode & 0o777 for each in (folder, *folder.rglob("*"))}


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_a_folder_is_made_whatever_the_umask_and_its_name(
    mask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The modes are 0700 and 0600 at most, and a line feed in the path doesn't matter."""
    folder = tmp_path / "a\nb"
    before = os.umask(mask)
    try:
        result = init(str(folder), monkeypatch)
    finally:
        os.umask(before)
    made = modes(folder)
    assert all(mode & 0o077 == 0 for mode in made.values()), made
    if mask == 0o777 and os.geteuid() != 0:
        assert result.exit_code != 0
        return
    assert result.exit_code == 0, result.output
    assert home.load(folder).api_key == "a-key"


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative home is under the current folder, and the command says where."""
    monkeypatch.chdir(tmp_path)
    result = init("here", monkeypatch)
    assert str(tmp_path / "here") in result.output.replace("\n", "")
    assert home.load(tmp_path / "here").api_key == "a-key"


def test_a_full_disk_leaves_the_credentials_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command fails with a reason, and no part of a new file is left."""
    folder = tmp_path / "home"
    home.make(folder, "http://127.0.0.1:9", "an-earlier-key", TENANT)
    before = sorted(folder.rglob("*"))
    with full_disk():
        result = init(str(folder), monkeypatch)
    assert result.exit_code != 0
    assert home.load(folder).api_key == "an-earlier-key"
    assert sorted(folder.rglob("*")) == before


def test_a_file_that_is_swapped_for_a_link_is_never_read_through_it(tmp_path: Path) -> None:
    """However the swap falls between check and opening, the link's target is not what is read."""
    path, own, link = (tmp_path / name for name in ("file", "own", "link"))
    (tmp_path / "target").write_bytes(b"of another")
    (tmp_path / "target").chmod(0o600)
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            private.write(own, b"own")
            own.replace(path)
            link.symlink_to(tmp_path / "target")
            link.replace(path)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(SWAPS):
            with suppress(PrivateFileError):
                assert private.read(path, 100) in (b"own", None)
    finally:
        is_over.set()
        swapping.join()


@pytest.mark.parametrize("allowed", [False, True])
def test_the_key_goes_to_no_other_machine_without_tls(
    allowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service elsewhere is followed over TLS, unless a setting says that the network is ours."""
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TIDEGATE_DAEMON_ALLOW_HTTP", str(allowed).lower())
    elsewhere = [each.replace("127.0.0.1", "192.0.2.1") for each in INIT]
    result = CliRunner().invoke(tidegate, elsewhere)
    assert (result.exit_code == 0) == allowed
    assert allowed or "plain http" in result.output


def test_nothing_is_synced_from_another_machine_without_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that was written into the settings by hand is refused, too."""
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    home.make(tmp_path / "home", "http://192.0.2.1:9", "a-key", TENANT)
    for command in ("sync", "run"):
        result = CliRunner().invoke(tidegate, [command])
        assert result.exit_code != 0
        assert "plain http" in result.output + str(result.exception)
