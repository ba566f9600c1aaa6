"""Zstandard for what the stores keep: Python's own module, which has a backport before 3.14."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import (
        CompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        get_frame_info,
    )
else:
    from backports.zstd import (
        CompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        get_frame_info,
    )

__all__ = ["ZstdDecompressor", "ZstdError", "compressed", "compressor", "decompressed"]
_SMALLEST_DICTIONARY = 8
"""Zstandard ignores a raw dictionary of fewer bytes."""


def compressor(
    level: int, *, base: bytes = b"", window_log: int | None = None, checksum: bool = True
) -> ZstdCompressor:
    """Return a compressor, for any number of frames, one after another.

    Args:
        level: of Zstandard; negative ones are faster.
        base: an earlier text that frames refer to; empty for none.
        window_log: the logarithm of the window's bytes; by default, what the level has.
        checksum: whether frames have one.
    """
    options: dict[int, int] = {
        CompressionParameter.compression_level: level,
        CompressionParameter.checksum_flag: int(checksum),
    }
    if window_log is not None:
        options[CompressionParameter.window_log] = window_log
    return ZstdCompressor(options=options, zstd_dict=_dictionary(base))


def compressed(content: bytes, by: ZstdCompressor) -> bytes:
    """Return one frame, which states the size of its content."""
    return by.compress(content, ZstdCompressor.FLUSH_FRAME)


def decompressed(packed: bytes, most: int, base: bytes = b"") -> bytes:
    """Return the content of one frame.

    Args:
        packed: the frame.
        most: bytes that it may have; more are never in memory.
        base: the text that :func:`compressor` got.

    Raises:
        ZstdError: it is damaged, isn't whole, or doesn't state a size of at most ``most``.
    """
    size = get_frame_info(packed).decompressed_size
    if size is None or size > most:
        raise ZstdError("it has no believable size")
    unpacking = ZstdDecompressor(zstd_dict=_dictionary(base))
    # With room for one more byte, it reads on to the checksum at the end.
    content = unpacking.decompress(packed, size + 1)
    if not unpacking.eof:
        raise ZstdError("it isn't whole")
    return content


def _dictionary(base: bytes) -> ZstdDict | None:
    return ZstdDict(base, is_raw=True) if len(base) >= _SMALLEST_DICTIONARY else None
