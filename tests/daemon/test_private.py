"""Files for their owner alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegate_server.daemon.private import PrivateFileError, make_directory, opener, read, write


def test_a_file_is_replaced_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    """A written file is there whole, with the mode 0600, and no other file is left."""
    path = tmp_path / "file"
    for content in (b"one", b"another"):
        write(path, content)
        assert read(path, 100) == content
        assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Neither a symbolic link nor a second name of a file is read."""
    target = tmp_path / "target"
    write(target, b"secret")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(PrivateFileError, match="link"):
        read(tmp_path / "link", 100)
    os.link(target, tmp_path / "second")
    with pytest.raises(PrivateFileError, match="another name"):
        read(target, 100)


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    """Writing changes the name, not what somebody made the name lead to."""
    target = tmp_path / "target"
    write(target, b"kept")
    (tmp_path / "link").symlink_to(target)
    write(tmp_path / "link", b"new")
    assert target.read_bytes() == b"kept"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None:
    """The message names the command that mends it."""
    path = tmp_path / "file"
    write(path, b"x")
    path.chmod(mode)
    with pytest.raises(PrivateFileError, match="chmod 600"):
        read(path, 100)


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    """A pipe, a folder and a file that is too long; what is not there is None."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir()
    write(tmp_path / "long", b"x" * 11)
    for name in ("pipe", "folder", "long"):
        with pytest.raises((PrivateFileError, OSError)):
            read(tmp_path / name, 10)
    assert read(tmp_path / "nothing", 10) is None


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    """A folder is made for its owner alone; one that is open is an error."""
    make_directory(tmp_path / "own")
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
    (tmp_path / "own").chmod(0o755)
    with pytest.raises(PrivateFileError, match="chmod 700"):
        make_directory(tmp_path / "own")


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_a_file_that_grows_is_for_its_owner_alone(tmp_path: Path, mask: int) -> None:
    """A log or a spool gets the mode 0600 whatever the umask, also when it had another one."""
    before = os.umask(mask)
    try:
        for _ in range(2):
            with open(tmp_path / "log", "ab", opener=opener) as file:
                file.write(b"x")
            assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
            (tmp_path / "log").chmod(0o666)
    finally:
        os.umask(before)
    assert (tmp_path / "log").read_bytes() == b"xx"


def test_a_link_to_a_device_leaves_its_mode(tmp_path: Path) -> None:
    """Somebody may send a log to `/dev/null`."""
    before = os.stat(os.devnull).st_mode
    (tmp_path / "log").symlink_to(os.devnull)
    with open(tmp_path / "log", "ab", opener=opener) as file:
        file.write(b"x")
    assert os.stat(os.devnull).st_mode == before
