"""The front page of the package, as a list."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import tidegate

NAMES = [name for name in tidegate.__all__ if name != "testing"]
LATE = {"AsyncClient", "Client"}
"""Imported when they are named, with what they stand on."""


def test_every_public_name_is_listed() -> None:
    """Nothing is exported by accident and nothing is missing."""
    found = {
        name
        for name, value in vars(tidegate).items()
        if not name.startswith("_") and (name == "testing" or not inspect.ismodule(value))
    }
    assert found | LATE == set(tidegate.__all__)


def test_the_client_is_imported_when_it_is_named() -> None:
    """Importing the package does not import the client's HTTP library."""
    program = (
        "import sys, tidegate; assert 'httpx2' not in sys.modules, 'early';"
        "tidegate.Client; assert 'tidegate.client' in sys.modules, 'never'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", NAMES)
def test_public_names_have_a_docstring(name: str) -> None:
    """Every public name has a docstring."""
    assert inspect.getdoc(getattr(tidegate, name))


@pytest.mark.parametrize("name", ["Program", "RuleSet", "Engine", "Client", "AsyncClient"])
def test_public_methods_have_a_docstring(name: str) -> None:
    """The same for what can be called on the main classes."""
    members = inspect.getmembers(getattr(tidegate, name), inspect.isfunction)
    assert not [
        member for member, value in members if not member.startswith("_") and not value.__doc__
    ]
