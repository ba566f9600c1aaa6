"""Types, their text form and signatures."""

from __future__ import annotations

import pytest

from tidegate.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    AbstractType,
    ListType,
    MapType,
    Signature,
    TypeParam,
    parse_signature,
    parse_type,
)


@pytest.mark.parametrize(
    "text",
    [
        "bool",
        "net.IP",
        "dyn",
        "type",
        "type(int)",
        "list(int)",
        "map(string, list(dyn))",
        "optional_type(timestamp)",
        "A",
        "tuple(A, int)",
        "my.pair(A, B)",
    ],
)
def test_text_form_reads_back(text: str) -> None:
    """A type prints as the text it was read from."""
    assert str(parse_type(text)) == text


def test_primitives_are_singletons() -> None:
    """A primitive is one object however it was made."""
    assert parse_type("int") is INT
    assert parse_type(" list( int ) ") == ListType(INT)
    assert parse_type("map(string,dyn)") == MapType(STRING, DYN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "integer",
        "list",
        "list()",
        "list(int",
        "map(int)",
        "(int)",
        "list(int))",
        "a b",
        "list(" * 200 + "int" + ")" * 200,
        "é(int)",
    ],
)
def test_what_is_no_type_is_refused(text: str) -> None:
    """Unknown names, wrong counts and unbounded nesting are errors."""
    with pytest.raises(ValueError, match=r"\S"):
        parse_type(text)


def test_signatures_of_members_namespaces_and_operators() -> None:
    """The part before the name is a receiver if it is a type, else a namespace."""
    assert parse_signature("string.contains(string) -> bool") == Signature(
        "contains", True, (STRING, STRING), BOOL
    )
    assert parse_signature("net.IP.family() -> int").name == "family"
    assert parse_signature("list(A).join() -> string").params == (ListType(TypeParam("A")),)
    spaced = parse_signature("math.greatest(list(A)) -> A")
    assert (spaced.name, spaced.member) == ("math.greatest", False)
    assert parse_signature("==(A, A) -> bool").name == "=="
    assert parse_signature("f(pair(A, B)) -> A").params == (
        AbstractType("pair", (TypeParam("A"), TypeParam("B"))),
    )


@pytest.mark.parametrize(
    "text", ["string.contains(string) -> bool", "math.greatest(list(A)) -> A", "f() -> int"]
)
def test_signatures_print_as_they_are_read(text: str) -> None:
    """A signature prints as its text."""
    assert str(parse_signature(text)) == text


@pytest.mark.parametrize("text", ["", "f(int)", "f -> int", "f(int -> int", "f(nonsense) -> int"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    """A signature needs parameters and a result, all types."""
    with pytest.raises(ValueError, match=r"\S"):
        parse_signature(text)
