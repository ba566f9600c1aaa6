"""Index entries of decisions, as they are written and read."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_server.stores.decision_log.lines import encode_index, read_index

IDS = ["018f0000-0000-7000-8000-0000000000cc", "018f0000-0000-7000-8000-0000000000dd"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def entry(path: str | None = "/", reason: str = "policy") -> bytes:
    """The index entry of a decision."""
    pair = (b"k" * 16, b"f" * 16)
    fired = [(IDS[1], "Block")]
    return encode_index(
        IDS[0], IDS[1], 5, IDS[0], pair, 4, "block", reason, IDS[1], path, IDS, fired, [""]
    )


@given(TEXTS | st.none(), TEXTS)
def test_an_entry_is_read_as_it_was_written(path: str | None, reason: str) -> None:
    """Each member comes back, whatever characters a path has."""
    one, other = read_index(b",".join((entry(path, reason), entry())))
    assert (one.path, one.reason, one.entity_ids) == (path, reason, IDS)
    assert (one.received_at_ns, one.observed_at_ns, one.action) == (5, 4, "block")
    assert (one.fired, one.errors, one.fingerprint) == ([(IDS[1], "Block")], [""], "66" * 16)
    assert other.path == "/"


def test_members_that_a_newer_version_appends_are_ignored() -> None:
    """An entry may be longer than this version writes it."""
    longer = orjson.dumps([*orjson.loads(entry()), "new", {"a": 1}])
    assert read_index(longer) == read_index(entry())


@pytest.mark.parametrize(
    "index", [b"{}", b"[]", b"[1]", entry()[:-1], entry().replace(b"5", b'"5"')]
)
def test_anything_else_is_no_index(index: bytes) -> None:
    """A row whose entries have another form is reported as damaged, and not searched."""
    with pytest.raises(ValueError, match=r"."):
        read_index(index)
