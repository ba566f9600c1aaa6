"""Facts that Python and the engine state, each for itself."""

from __future__ import annotations

import attrs

from tidegate import _native, limits


def test_the_engine_has_the_bounds_of_the_package() -> None:
    """Each bound of the engine has a name here, and the same value."""
    stated = {**vars(limits), **attrs.asdict(limits.DEFAULT)}
    assert {name: stated.get(name) for name in _native.FACTS} == _native.FACTS
    assert len(_native.FACTS) == 10
