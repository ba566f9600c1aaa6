"""Key files: made once, private, and nothing else is taken for one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import attrs
import pytest
from tests.shared_data import shared_lines

from tidegate_server.operators.keys import KeyFileError, Keys, load_keys

FILES = [each.metadata["file"] + ".key" for each in attrs.fields(Keys)]


def test_keys_are_made_at_first_start_and_kept(tmp_path: Path) -> None:
    """The second start finds the keys of the first; every key is another one."""
    first = load_keys(tmp_path / "keys")
    assert load_keys(tmp_path / "keys") == first
    values = list(attrs.asdict(first).values())
    assert len(set(values)) == len(values)
    assert load_keys(tmp_path / "others") != first


def test_key_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    """Mode 0600 in a directory of mode 0700, whatever the umask is."""
    before = os.umask(0)
    try:
        load_keys(tmp_path / "keys")
    finally:
        os.umask(before)
    assert sorted(os.listdir(tmp_path / "keys")) == sorted(FILES)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert {stat.S_IMODE((tmp_path / "keys" / name).stat().st_mode) for name in FILES} == {0o600}


def test_keys_are_not_shown(tmp_path: Path) -> None:
    """The text of the object, as logs and tracebacks have it, holds no key."""
    keys = load_keys(tmp_path / "keys")
    assert not [value for value in attrs.asdict(keys).values() if value.hex() in repr(keys)]
    assert repr(keys) == "Keys()"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o644])
def test_a_file_open_to_others_stops_the_start(tmp_path: Path, name: str, mode: int) -> None:
    """The message names the file and the command that mends it."""
    load_keys(tmp_path / "keys")
    path = tmp_path / "keys" / name
    path.chmod(mode)
    with pytest.raises(KeyFileError, match=f"chmod 600 {path}"):
        load_keys(tmp_path / "keys")


def test_an_open_directory_stops_the_start(tmp_path: Path) -> None:
    """An open directory stops the start: others could put their own files in it."""
    load_keys(tmp_path / "keys")
    (tmp_path / "keys").chmod(0o777)
    with pytest.raises(KeyFileError, match="chmod 700"):
        load_keys(tmp_path / "keys")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_stops_the_start(tmp_path: Path) -> None:
    """A key file of another user stops the start, since its owner can read and change it."""
    load_keys(tmp_path / "keys")
    os.chown(tmp_path / "keys" / FILES[0], 65_534, 65_534)
    with pytest.raises(KeyFileError, match="another user"):
        load_keys(tmp_path / "keys")


def test_a_missing_file_is_not_made_again(tmp_path: Path) -> None:
    """A new key would silently end every token or API key."""
    load_keys(tmp_path / "keys")
    (tmp_path / "keys" / FILES[1]).unlink()
    with pytest.raises(KeyFileError, match="missing"):
        load_keys(tmp_path / "keys")


def test_a_link_is_no_key_file(tmp_path: Path) -> None:
    """A symbolic link is refused as a key file."""
    load_keys(tmp_path / "keys")
    path = tmp_path / "keys" / FILES[0]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyFileError):
        load_keys(tmp_path / "keys")


def test_a_directory_in_place_of_a_file_stops_the_start(tmp_path: Path) -> None:
    """A directory in place of a key file is refused with a message."""
    load_keys(tmp_path / "keys")
    path = tmp_path / "keys" / FILES[0]
    path.unlink()
    path.mkdir()
    with pytest.raises(KeyFileError):
        load_keys(tmp_path / "keys")


def _content(directory: Path, name: str) -> str:
    return (directory / name).read_text()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "",
        lambda text: text[:-2],
        lambda text: text + text,
        lambda text: text.replace("-v1:", "-v2:"),
        lambda text: text.rpartition(":")[2],
        lambda text: text.partition(":")[0] + ":" + "00" * 32,
        lambda text: text.partition(":")[0] + ":" + "changeme",
        lambda text: "x" * 100_000,
    ],
)
def test_a_file_that_holds_anything_else_stops_the_start(tmp_path: Path, spoil: object) -> None:
    """Cut short, doubled, of another version, without its purpose, all zeros, or a word."""
    load_keys(tmp_path / "keys")
    path = tmp_path / "keys" / FILES[0]
    path.write_text(spoil(path.read_text()))  # type: ignore[operator]
    with pytest.raises(KeyFileError, match="holds no key"):
        load_keys(tmp_path / "keys")


def test_a_key_of_another_purpose_stops_the_start(tmp_path: Path) -> None:
    """Swapped key files stop the start."""
    load_keys(tmp_path / "keys")
    directory = tmp_path / "keys"
    (directory / FILES[0]).write_text(_content(directory, FILES[1]))
    with pytest.raises(KeyFileError, match="holds no key"):
        load_keys(directory)


def test_publicly_known_secrets_stop_the_start(tmp_path: Path) -> None:
    """No secret that others know is taken for a key."""
    load_keys(tmp_path / "keys")
    path = tmp_path / "keys" / FILES[0]
    for each in shared_lines("data/adversarial/jwt/known_secrets.jsonl"):
        path.write_text(each["secret"])
        with pytest.raises(KeyFileError):
            load_keys(tmp_path / "keys")


def test_two_first_starts_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two first starts at once, the second takes the keys of the first."""
    directory = tmp_path / "keys"
    exists = Path.exists
    first = load_keys(directory)
    monkeypatch.setattr(Path, "exists", lambda self: self != directory and exists(self))
    assert load_keys(directory) == first
    assert os.listdir(tmp_path) == ["keys"]
