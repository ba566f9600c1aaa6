"""Families of secret names: one text in both languages, whose entries are names of secrets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.evaluation.secrets import families
from tidegate.evaluation.secrets.names import Kind, family

RUST = Path(__file__).parents[2] / "rust/core/src/redact/families.txt"


def test_both_languages_have_the_same_families() -> None:
    """The text of the reference is that of the Rust core, to the byte."""
    assert RUST.read_text() == families.TEXT


def test_every_section_is_read() -> None:
    """Each section has entries, and each of its lines gives some."""
    for name in re.findall(r"^\[(\w+)\]$", families.TEXT, re.MULTILINE):
        assert families.section(name), name
        assert families.entries(name), name


@pytest.mark.parametrize("section", ["stems", "words", "endings"])
def test_every_entry_is_a_secret_by_itself(section: str) -> None:
    """A stem, a word and an ending are names of secrets."""
    assert [each for each in families.entries(section) if family(each) is not Kind.ALL] == []


def test_guarded_words_are_secrets_only_next_to_words_of_theirs() -> None:
    """A guarded word is a secret alone and next to its own words, and not next to others."""
    for word, beside in families.named("guarded").items():
        assert family(word) is Kind.ALL, word
        assert family(f"zebra_{word}") is not Kind.ALL, word
        for other in beside:
            assert family(f"{other}_{word}") is Kind.ALL, (other, word)


def test_led_words_are_secrets_only_after_words_of_theirs() -> None:
    """A last word is a secret after the words that lead it, and not after those that don't."""
    for word, before in families.named("led").items():
        for other in before:
            assert family(f"{other}_{word}") is Kind.ALL, (other, word)
    for word, before in families.named("unled").items():
        for other in before:
            assert family(f"{other}_{word}") is Kind.NONE, (other, word)


@pytest.mark.parametrize("section", ["about", "asking"])
def test_what_is_about_a_secret_is_none(section: str) -> None:
    """A word about a secret, after or before its name, makes it none."""
    for word in families.entries(section):
        name = f"password_{word}" if section == "about" else f"{word}_password"
        assert family(name) is Kind.NONE, name
