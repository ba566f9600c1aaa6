"""Files that are packed: the same content, whatever packed it, or an error."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from tidegate.packed import PACKINGS, UNREADABLE, unpacked
from tidegate_server.stores.rows.compression import compressed, compressor

CONTENT = b"".join(b"line %d\n" % number for number in range(20_000))
PACKED = {
    "plain": CONTENT,
    "gzip": gzip.compress(CONTENT),
    "bzip2": bz2.compress(CONTENT),
    "xz": lzma.compress(CONTENT),
    "zstd": compressed(CONTENT, compressor(3)),
}
ALL_PACKINGS = [name for name in PACKED if name != "plain"]


@pytest.mark.parametrize("name", PACKED)
def test_a_file_is_unpacked_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    """The content is the same, in one file and in two that were appended."""
    file = tmp_path / "no-ending"
    for content, expected in ((PACKED[name], CONTENT), (PACKED[name] * 2, CONTENT * 2)):
        file.write_bytes(content)
        with file.open("rb") as raw:
            assert unpacked(raw).read() == expected


@pytest.mark.parametrize("name", ALL_PACKINGS)
def test_a_packed_file_that_ends_early_is_an_error(tmp_path: Path, name: str) -> None:
    """The end of what is there isn't taken for the end of the content."""
    file = tmp_path / "cut"
    file.write_bytes(PACKED[name][:-9])
    with file.open("rb") as raw, pytest.raises(UNREADABLE):
        unpacked(raw).read()


def test_every_packing_is_tested() -> None:
    """Each of the known first bytes is those of one of the files here."""
    starts = [content[:6] for content in PACKED.values()]
    assert all(any(each.startswith(magic) for each in starts) for magic in PACKINGS)
    assert len(PACKINGS) == len(ALL_PACKINGS)


@pytest.mark.parametrize("content", [b"", b"\x1f", b"BZ", b"(\xb5"])
def test_a_short_file_is_plain(tmp_path: Path, content: bytes) -> None:
    """A file that ends before it could be recognised is read as it is."""
    file = tmp_path / "short"
    file.write_bytes(content)
    with file.open("rb") as raw:
        assert unpacked(raw).read() == content
