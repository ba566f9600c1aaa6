"""Opening a data directory: what belongs together is taken, anything else is refused."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from pysqlite3 import dbapi2

from tidegate.errors import TidegateError
from tidegate_server.demo import make_owner
from tidegate_server.directory.opening import (
    StrayPartError,
    migrate_directory,
    open_directory,
    own_directory,
)
from tidegate_server.operators.keys import KeyFileError, load_keys
from tidegate_server.stores.base import HeldError, SchemaError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.directory.identity import read_file
from tidegate_server.stores.migrations import HEAD
from tidegate_server.stores.sqlite import SqliteStore


def used(directory: Path) -> Path:
    """A directory that was used."""
    keys = open_directory(directory)
    store = SqliteStore(f"sqlite:///{directory / 'tidegate.db'}")
    make_owner(store, keys)
    store.close()
    return directory


def test_an_empty_directory_gets_all_its_parts(tmp_path: Path) -> None:
    """The second time they are found and not made again."""
    keys = open_directory(tmp_path / "data")
    before = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()}
    assert open_directory(tmp_path / "data") == keys
    assert {path: path.read_bytes() for path in before} == before
    assert (tmp_path / "data" / "keys" / "identity").exists()


@pytest.mark.parametrize("step", range(6))
def test_a_first_start_that_was_killed_goes_on(tmp_path: Path, step: int) -> None:
    """A first start that was killed continues, whichever parts it had not made."""
    child = os.fork()
    if child == 0:
        count = iter(range(step))
        replace = os.fsync

        def fsync(descriptor: int) -> None:
            if next(count, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(descriptor)

        os.fsync = fsync
        open_directory(tmp_path / "data")
        os._exit(0)
    os.waitpid(child, 0)
    keys = open_directory(tmp_path / "data")
    assert open_directory(tmp_path / "data") == keys


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda at: (at / "tidegate.db").unlink(), "tidegate.db` is missing.*backup"),
        (lambda at: _empty(at / "tidegate.db"), "tidegate.db` is empty.*backup"),
        (lambda at: shutil.rmtree(at / "keys"), "keys` is missing.*backup"),
        (lambda at: (at / "keys" / "cursor.key").unlink(), "cursor.key` is missing"),
        (lambda at: _empty(at / "keys" / "identity"), "identity` is damaged"),
    ],
)
def test_what_is_missing_is_not_made_anew(
    tmp_path: Path, damage: Callable[[Path], object], said: str
) -> None:
    """The message says what is missing and what to do."""
    directory = used(tmp_path / "data")
    damage(directory)
    with pytest.raises((StrayPartError, KeyFileError), match=said):
        open_directory(directory)
    with pytest.raises((StrayPartError, KeyFileError), match=said):
        migrate_directory(directory)


def test_a_derived_file_alone_is_of_a_database_that_is_lost(tmp_path: Path) -> None:
    """A derived file without a database is refused, even when all other parts are gone."""
    directory = used(tmp_path / "data")
    for path in directory.iterdir():
        if "derived" not in path.name:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(StrayPartError, match="the derived file"):
        open_directory(directory)


@pytest.mark.parametrize("part", ["tidegate.db", "keys"])
def test_a_part_of_another_directory_is_refused(tmp_path: Path, part: str) -> None:
    """Two intact parts that belong to different directories are refused."""
    one, other = used(tmp_path / "one"), used(tmp_path / "other")
    target = one / part
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    shutil.move(other / part, target)
    with pytest.raises(StrayPartError, match=r"another|is of directory|not those"):
        open_directory(one)


def test_a_key_with_one_wrong_digit_is_refused(tmp_path: Path) -> None:
    """A key with one wrong digit is refused, since no API key would match it."""
    directory = used(tmp_path / "data")
    path = directory / "keys" / "api-key-pepper.key"
    text = path.read_text().rstrip()
    path.write_text(text[:-1] + ("0" if text[-1] != "0" else "1") + "\n")
    with pytest.raises(KeyFileError, match=r"api-key-pepper.key.*restore"):
        open_directory(directory)
    (directory / "keys" / "identity").unlink()
    with pytest.raises(StrayPartError, match="not those"):
        open_directory(directory)


def test_a_restored_pair_of_database_and_keys_is_taken(tmp_path: Path) -> None:
    """A backup has neither the file of the directory nor what is derived."""
    directory = used(tmp_path / "data")
    keys = open_directory(directory)
    restored = tmp_path / "restored"
    restored.mkdir(mode=0o700)
    shutil.copy2(directory / "tidegate.db", restored)
    shutil.copytree(directory / "keys", restored / "keys")
    assert open_directory(restored) == keys
    assert read_file(restored) == read_file(directory)


def test_lost_keys_are_given_up_on_purpose(tmp_path: Path) -> None:
    """New ones are made only when somebody says so."""
    directory = used(tmp_path / "data")
    before = open_directory(directory)
    shutil.rmtree(directory / "keys")
    migrate_directory(directory, accepts_keys=True)
    assert open_directory(directory) != before


def test_a_directory_of_an_earlier_version_is_migrated_first(tmp_path: Path) -> None:
    """Only `tidegate migrate` gives an identity to a directory of an earlier version."""
    directory = tmp_path / "data"
    url = f"sqlite:///{directory / 'tidegate.db'}"
    migrate(url)
    keys = load_keys(directory / "keys")
    with dbapi2.connect(directory / "tidegate.db") as connection:
        connection.execute("UPDATE schema_version SET version_num = '0003'")
    connection.close()
    with pytest.raises(SchemaError, match="tidegate migrate"):
        open_directory(directory)
    with dbapi2.connect(directory / "tidegate.db") as connection:
        connection.execute("UPDATE schema_version SET version_num = ?", [HEAD])
    connection.close()
    migrate_directory(directory)
    assert open_directory(directory) == keys
    assert read_file(directory) is not None


def _without_later_keys(directory: Path) -> None:
    """Leave a directory as a version left it that knew nothing of challenges."""
    marks = (directory / "keys" / "identity").read_text().splitlines(keepends=True)
    for purpose in ("challenge-proof", "challenge-sealing"):
        (directory / "keys" / f"{purpose}.key").unlink()
    (directory / "keys" / "identity").write_text("".join(marks[:5]))
    known = hashlib.blake2b("".join(marks[1:5]).encode(), digest_size=16).digest()
    with dbapi2.connect(directory / "tidegate.db") as connection:
        connection.execute("UPDATE store_identity SET keys_fingerprint = ?", [known])
    connection.close()


@pytest.mark.parametrize("step", range(8))
def test_an_earlier_directory_gets_its_new_keys_from_migrate(tmp_path: Path, step: int) -> None:
    """A start names the command, the command adds what is missing, killed at any step or not."""
    directory = used(tmp_path / "data")
    before = open_directory(directory)
    _without_later_keys(directory)
    with pytest.raises(KeyFileError, match=r"challenge-proof.key.*tidegate migrate"):
        open_directory(directory)
    child = os.fork()
    if child == 0:
        count = iter(range(step))
        replace = os.fsync

        def fsync(descriptor: int) -> None:
            if next(count, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(descriptor)

        os.fsync = fsync
        migrate_directory(directory)
        os._exit(0)
    os.waitpid(child, 0)
    migrate_directory(directory)
    after = open_directory(directory)
    assert (after.signing, after.pepper) == (before.signing, before.pepper)
    assert len({after.proofs, after.sealing, before.proofs, before.sealing}) == 4
    migrate_directory(directory)
    assert open_directory(directory) == after


def test_an_added_key_that_is_lost_is_not_made_again(tmp_path: Path) -> None:
    """Once the directory knows the key, a new one would silently end every proof."""
    directory = used(tmp_path / "data")
    (directory / "keys" / "challenge-proof.key").unlink()
    for attempt in (open_directory, migrate_directory):
        with pytest.raises(KeyFileError, match=r"challenge-proof.key` is missing: restore"):
            attempt(directory)


def test_nothing_is_written_beside_an_owner(tmp_path: Path) -> None:
    """A command that finds nothing to do works while a server runs, another is refused."""
    directory = used(tmp_path / "data")
    lock = own_directory(directory)
    open_directory(directory)
    migrate_directory(directory)
    (directory / "identity").unlink()
    with pytest.raises(HeldError):
        open_directory(directory)
    lock.release()
    open_directory(directory)


def test_a_file_that_is_no_database_is_refused_with_its_name(tmp_path: Path) -> None:
    """A file that is not a database is refused with a sentence, without a traceback."""
    directory = used(tmp_path / "data")
    (directory / "tidegate.db").write_bytes(os.urandom(100_000))
    with pytest.raises(TidegateError, match=r"tidegate.db.*backup"):
        open_directory(directory)
