"""Frames of Zstandard: one content, bounded, and never silently damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_server.stores.rows.compression import ZstdError, compressed, compressor, decompressed

CONTENT = b"a line\n" * 100


@given(st.binary(max_size=500), st.binary(max_size=500))
def test_a_frame_has_what_was_packed(content: bytes, base: bytes) -> None:
    """Content comes back, with any text as the base, also one too short to be used."""
    packed = compressed(content, compressor(9, base=base, window_log=10))
    assert decompressed(packed, 500, base) == content


def test_a_compressor_packs_one_frame_after_another() -> None:
    """Each frame of one compressor is read alone."""
    one = compressor(-1)
    assert [decompressed(compressed(each, one), 700) for each in (CONTENT, b"", b"x")] == [
        CONTENT,
        b"",
        b"x",
    ]


@pytest.mark.parametrize("at", range(0, 40, 3))
def test_a_damaged_frame_is_refused(at: int) -> None:
    """A changed byte, a missing end, and another text as the base are found."""
    packed = bytearray(compressed(CONTENT + bytes(range(256)), compressor(-1)))
    packed[-1 - at] ^= 1
    with pytest.raises(ZstdError):
        decompressed(bytes(packed), 2_000)
    packed[-1 - at] ^= 1
    with pytest.raises(ZstdError):
        decompressed(bytes(packed[: -1 - at]), 2_000)


def test_a_frame_that_says_more_than_it_may_have_is_refused() -> None:
    """The size is read before anything is unpacked; a frame without a size has none to believe."""
    with pytest.raises(ZstdError, match="no believable size"):
        decompressed(compressed(CONTENT, compressor(-1)), len(CONTENT) - 1)
    one = compressor(-1)
    pieces = one.compress(CONTENT) + one.flush()
    with pytest.raises(ZstdError, match="no believable size"):
        decompressed(pieces, 2_000)
