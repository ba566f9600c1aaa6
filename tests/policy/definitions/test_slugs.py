"""Slugs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.policy.definitions.slugs import MAX_LENGTH, is_slug, slug_from_name


@pytest.mark.parametrize(
    ("name", "action", "other"),
    [
        ("Login attempt", "login_attempt", "login-attempt"),
        ("  Größe & Café!  ", "grosse_cafe", "grosse-cafe"),
        ("404 scan", "_404_scan", "404-scan"),
        ("in", "_in", "in"),
        ("Ⅷ", "viii", "viii"),
        ("登录", "", ""),
        ("--", "", ""),
        ("a" * 100, "a" * MAX_LENGTH, "a" * MAX_LENGTH),
        ("a" * 63 + " b", "a" * 63, "a" * 63),
    ],
)
def test_a_name_gives_a_slug(name: str, action: str, other: str) -> None:
    """Underscores for actions, hyphens for everything else."""
    assert slug_from_name(name, "action") == action
    assert slug_from_name(name, "policy") == other


@given(st.text(max_size=100), st.sampled_from(["action", "policy"]))
def test_a_slug_made_from_a_name_is_one(name: str, kind: str) -> None:
    """A slug made from a name is valid, unless the name has nothing to make it from."""
    slug = slug_from_name(name, kind)
    assert not slug or is_slug(slug, kind)


@pytest.mark.parametrize(
    ("text", "action", "other"),
    [
        ("abc", True, True),
        ("a_b", True, False),
        ("a-b", False, True),
        ("a--b", False, False),
        ("-a", False, False),
        ("1a", False, True),
        ("A", False, False),
        ("", False, False),
        ("true", False, True),
        ("é", False, False),
        ("a\n", False, False),
        ("a" * (MAX_LENGTH + 1), False, False),
    ],
)
def test_not_every_text_is_a_slug(text: str, action: bool, other: bool) -> None:
    """Actions must be identifiers of the expression language."""
    assert is_slug(text, "action") is action
    assert is_slug(text, "policy") is other
