"""A version of a pack never changes, and earlier versions are kept: updates begin from them."""

from __future__ import annotations

from hashlib import sha256

import orjson
import pytest

from tidegate.packs import BUNDLED, bundled_pack

DIGESTS = {
    ("baseline", "1.0.0"): "2529cb5fcc205461",
    ("ai-crawlers", "1.0.0"): "f0670000ffc215e3",
    ("verified-bots", "1.0.0"): "8bb256ce703e9193",
    ("verified-bots", "1.1.0"): "c3fe2052ea2860c6",
    ("verified-bots", "2.0.0"): "7c66ea2e868f9ed6",
    ("vulnerability-probing", "1.0.0"): "ab14d2fb8308abc7",
    ("credential-stuffing", "1.0.0"): "1627ad68579b8cd0",
    ("card-testing", "1.0.0"): "50fc1b8c22bbc112",
    ("signup-abuse", "1.0.0"): "294a450351acb3bf",
    ("scraping", "1.0.0"): "f1572523caa01ae8",
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
