"""A version of a pack never changes, and earlier versions are kept: updates begin from them."""

from __future__ import annotations

from hashlib import sha256

import orjson
import pytest

from tidegate.packs import BUNDLED, bundled_pack

DIGESTS = {
    ("baseline", "1.0.0"): "23fcb40fd9c19cd2",
    ("ai-crawlers", "1.0.0"): "d5d46e9885337804",
    ("verified-bots", "1.0.0"): "8bb256ce703e9193",
    ("verified-bots", "1.1.0"): "688de1c575a81e4f",
    ("vulnerability-probing", "1.0.0"): "260597d2d97e4661",
    ("credential-stuffing", "1.0.0"): "55623cf00fbe92e3",
    ("card-testing", "1.0.0"): "73e3192bdeea1345",
    ("signup-abuse", "1.0.0"): "6b72d1456fb0655c",
    ("scraping", "1.0.0"): "d671172dc622c6e2",
    ("api-abuse", "1.0.0"): "eeda1c606b06f94c",
}
"""The digest of each version of a pack that was released or is about to be.

For a pack that changes after a release, add a line with the new version, and keep the definitions
of the one before as ``earlier/VERSION.yaml``.
"""


@pytest.mark.parametrize(("name", "version"), DIGESTS)
def test_a_version_of_a_pack_never_changes(name: str, version: str) -> None:
    """Its content is the base of updates, wherever the version was added."""
    definitions = bundled_pack(name).definitions_of(version)
    text = orjson.dumps(definitions, option=orjson.OPT_SORT_KEYS)
    assert sha256(text).hexdigest()[:16] == DIGESTS[name, version]


def test_the_present_versions_are_there() -> None:
    """A new version has a line."""
    assert {(name, bundled_pack(name).version) for name in BUNDLED} <= DIGESTS.keys()
