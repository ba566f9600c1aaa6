"""Files that may be packed: gzip, bzip2, xz and Zstandard, recognised by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Mapping
from io import BufferedReader
from typing import BinaryIO, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKINGS: Mapping[bytes, Callable[[BufferedReader], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": zstd.open,
}
"""The function that unpacks a file, by the bytes at the file's beginning."""
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError)
"""Errors while a file is read: the disk's, and those of a packing that is damaged or ends early."""
_LONGEST = max(map(len, PACKINGS))


def unpacked(file: BufferedReader) -> BinaryIO:
    """The content of a file, unpacked while it is read; of a plain file, the file itself.

    Args:
        file: at its beginning; it stays open when the result is closed.
    """
    start = file.peek(_LONGEST)
    for magic, unpacking in PACKINGS.items():
        if start.startswith(magic):
            return cast("BinaryIO", unpacking(file))
    return cast("BinaryIO", file)
