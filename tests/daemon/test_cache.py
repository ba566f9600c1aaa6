"""Files of what is known of a service: whole and of their folder, or not used."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.disk import full_disk

from tidegate_server.daemon.cache import Cache


def test_every_changed_byte_and_every_cut_is_noticed(tmp_path: Path) -> None:
    """Each byte is flipped and each length tried; the file before is used, or none."""
    cache = Cache.of(tmp_path, "a key")
    cache.write("file", b'{"first": 1}')
    path = tmp_path / "file"
    whole = path.read_bytes()
    damaged = [
        *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))),
        *(whole[:length] for length in range(len(whole))),
    ]
    for content in damaged:
        path.write_bytes(content)
        assert cache.read("file") is None
    path.write_bytes(whole)
    cache.write("file", b'{"second": 2}')
    assert cache.read("file") == b'{"second": 2}'
    path.write_bytes(b"nothing")
    assert cache.read("file") == b'{"first": 1}'


def test_a_file_of_another_key_or_name_is_not_used(tmp_path: Path) -> None:
    """A file that was written for another API key, or under another name, counts as damaged."""
    Cache.of(tmp_path, "a key").write("file", b"{}")
    assert Cache.of(tmp_path, "another").read("file") is None
    (tmp_path / "other").write_bytes((tmp_path / "file").read_bytes())
    (tmp_path / "other").chmod(0o600)
    assert Cache.of(tmp_path, "a key").read("other") is None


def test_a_file_whose_writing_fails_leaves_the_one_that_was_there(tmp_path: Path) -> None:
    """Neither an error between two pieces nor a full disk costs a file, or leaves a part of one."""
    cache = Cache.of(tmp_path, "a key")
    cache.write("file", b"first")
    with pytest.raises(TypeError), cache.writing("file") as take:
        [take(each) for each in (b"sec", None)]  # type: ignore[arg-type]
    with full_disk(), pytest.raises(OSError, match="large"):
        cache.write("file", b"second")
    assert cache.read("file") == b"first"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_content_comes_back_whole_from_many_pieces(tmp_path: Path) -> None:
    """However it is cut on the way in, it is the same on the way out."""
    cache, pieces = Cache.of(tmp_path, "a key"), [bytes([each]) * each * 997 for each in range(256)]
    with cache.writing("file") as take:
        for piece in pieces:
            take(piece)
    assert cache.read("file") == b"".join(pieces)
    with cache.reading("file") as file:
        assert file is not None
        assert file.read(2_000) == b"".join(pieces)[:2_000]
