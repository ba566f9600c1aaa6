"""``traceparent`` is read as W3C Trace Context says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_server.telemetry.trace_context import (
    given_traceparent,
    read_traceparent,
    trace_id_of,
)

TRACE, PARENT = b"4bf92f3577b34da6a3ce929d0e0e4736", b"00f067aa0ba902b7"
VALID = b"00-%b-%b-01" % (TRACE, PARENT)
LOWER = st.sampled_from(b"0123456789abcdef")


def digits(count: int) -> st.SearchStrategy[bytes]:
    """So many hexadecimal digits, not all zero."""
    return (
        st.lists(LOWER, min_size=count, max_size=count).map(bytes).filter(lambda it: it.strip(b"0"))
    )


@given(
    trace=digits(32), parent=digits(16), flags=st.lists(LOWER, min_size=2, max_size=2).map(bytes)
)
def test_what_the_standard_allows_is_kept_as_it_was_sent(
    trace: bytes, parent: bytes, flags: bytes
) -> None:
    """Any trace, parent and flags in lower case are kept, and the trace is found in them."""
    sent = b"00-%b-%b-%b" % (trace, parent, flags)
    assert read_traceparent(sent) == sent
    assert trace_id_of(sent) == trace.decode()


@pytest.mark.parametrize(
    "sent",
    [
        None,
        b"",
        b"x",
        VALID[:-1],
        VALID + b"-",
        VALID + b"-more",
        VALID + b" ",
        VALID + b"\n",
        VALID.upper(),
        VALID.replace(b"-", b"_"),
        VALID.replace(TRACE, b"0" * 32),
        VALID.replace(PARENT, b"0" * 16),
        VALID.replace(TRACE, TRACE[:-1] + b"g"),
        b"ff" + VALID[2:],
        b"0" + VALID[2:],
        b"01" + VALID[2:] + b"more",
        VALID + b"," + VALID,
    ],
)
def test_anything_else_is_ignored(sent: bytes | None) -> None:
    """A value that isn't one ``traceparent`` counts as none."""
    assert read_traceparent(sent) is None
    assert trace_id_of(read_traceparent(sent)) is None


@pytest.mark.parametrize("more", [b"", b"-", b"-what-comes-later"])
def test_a_later_version_is_read_as_far_as_it_is_known(more: bytes) -> None:
    """Parts that a later version adds are ignored, and the rest is kept as version 00."""
    assert read_traceparent(b"cc" + VALID[2:] + more) == VALID


def test_two_headers_are_ignored() -> None:
    """Nobody can tell which of two headers is meant."""
    assert given_traceparent([(b"host", b"t"), (b"traceparent", VALID)]) == VALID
    assert given_traceparent([(b"traceparent", VALID)] * 2) is None
    assert given_traceparent([]) is None


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_ignored(sent: bytes) -> None:
    """Whatever is kept has the form of version 00."""
    found = read_traceparent(sent)
    assert found is None or (len(found) == len(VALID) and found[:3] == b"00-")
