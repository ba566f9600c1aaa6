"""Places in a scalar's value as places in the document."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.policy.document.json_text import compose_json
from tidegate.policy.document.positions import document_offsets
from tidegate.policy.document.tree import Mapping, Node, Scalar
from tidegate.policy.document.yaml_text import compose_yaml

LETTERS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=40)
TEXTS = st.one_of(LETTERS, st.text("ab '\"\\\n\té😀#:", max_size=60))


def value_of(root: Node) -> Scalar:
    """The value of a mapping with one member."""
    assert isinstance(root, Mapping)
    ((_, value),) = root.entries
    assert isinstance(value, Scalar)
    return value


def assert_offsets_fit(text: str, scalar: Scalar, expected: str) -> None:
    """Offsets rise, stay inside, and lead to the same character where it stands for itself."""
    assert scalar.value == expected
    offsets = document_offsets(scalar, text)
    assert len(offsets) == len(expected) + 1
    assert offsets == sorted(offsets)
    assert scalar.start is not None
    assert scalar.end is not None
    assert all(scalar.start <= offset <= scalar.end for offset in offsets)
    for character, offset in zip(expected, offsets, strict=False):
        if character.isalnum() and text[offset] != "\\":
            assert text[offset] == character


@given(TEXTS)
def test_json_strings(value: str) -> None:
    """Positions in a JSON string are right, however its characters are escaped."""
    for text in (json.dumps({"a": value}), json.dumps({"a": value}, ensure_ascii=False)):
        assert_offsets_fit(text, value_of(compose_json(text)), value)


@pytest.mark.parametrize("style", ["'", '"', "|", ">", None])
@given(value=TEXTS)
@example(value=":" * 12 + "\\" * 7 + "\U0001f600\t:a")
def test_yaml_scalars(style: str | None, value: str) -> None:
    """Positions in a YAML scalar are right, in every style that the library may choose."""
    text = yaml.dump({"a": value}, default_style=style, allow_unicode=True, width=40)
    text = text.replace("!!str ", "").replace('"a":', "a:")
    try:
        scalar = value_of(compose_yaml(text))
    except Exception:
        return
    if isinstance(scalar.value, str):
        assert_offsets_fit(text, scalar, scalar.value)


@pytest.mark.parametrize(
    "text",
    [
        "a: one two\n  three\n",
        "a: 'one ''two''\n\n  three'\n",
        'a: "one \\x41 \\u00e9 \\\n   two\n  three"\n',
        "a: |2\n   one\n  two\n\n  three\n",
        "a: >+  # folded\n  one\n  two\n\n    three\n  four\n\n\n",
        "a: >-\n\n  one\n  two\n",
    ],
)
def test_words_are_found_where_they_stand(text: str) -> None:
    """Every word of a value begins in the document where it is written."""
    scalar = value_of(compose_yaml(text))
    value = str(scalar.value)
    offsets = document_offsets(scalar, text)
    for word in ("one", "two", "three", "four"):
        if word in value:
            assert text[offsets[value.index(word)] :].startswith(word)
