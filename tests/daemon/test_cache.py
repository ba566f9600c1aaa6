"""Files of what is known of a service: whole and of their folder, or not used."""

from __future__ import annotations

from pathlib import Path

from tidegate.daemon.cache import Cache


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
    """What was written for another API key, or under another name, counts as damaged."""
    Cache.of(tmp_path, "a key").write("file", b"{}")
    assert Cache.of(tmp_path, "another").read("file") is None
    (tmp_path / "other").write_bytes((tmp_path / "file").read_bytes())
    (tmp_path / "other").chmod(0o600)
    assert Cache.of(tmp_path, "a key").read("other") is None
