"""The front page of the package, as a list."""

from __future__ import annotations

import inspect

import pytest

import tidegate

NAMES = [name for name in tidegate.__all__ if name != "testing"]


def test_every_public_name_is_listed() -> None:
    """Nothing is exported by accident and nothing is missing."""
    found = {
        name
        for name, value in vars(tidegate).items()
        if not name.startswith("_") and (name == "testing" or not inspect.ismodule(value))
    }
    assert found == set(tidegate.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_public_names_have_a_docstring(name: str) -> None:
    """Whoever meets a public name can read what it is."""
    assert inspect.getdoc(getattr(tidegate, name))


@pytest.mark.parametrize("name", ["Program", "RuleSet", "Engine"])
def test_public_methods_have_a_docstring(name: str) -> None:
    """The same for what can be called on the main classes."""
    members = inspect.getmembers(getattr(tidegate, name), inspect.isfunction)
    assert not [
        member for member, value in members if not member.startswith("_") and not value.__doc__
    ]
