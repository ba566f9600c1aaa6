"""The table of functions."""

from __future__ import annotations

import inspect

import pytest

from tidegate.functions import FUNCTIONS, Function

ALL = sorted(FUNCTIONS.values(), key=lambda function: (function.name, function.member))


@pytest.mark.parametrize("function", ALL, ids=lambda f: f"{f.name}{'.' if f.member else ''}")
def test_signatures_fit_their_meanings(function: Function) -> None:
    """Each signature can be called with as many arguments as it declares, and is documented."""
    for overload in function.overloads:
        assert (overload.signature.name, overload.signature.member) == (
            function.name, function.member,
        )  # fmt: skip
        inspect.signature(overload.meaning).bind(
            *overload.signature.params, **dict.fromkeys(overload.wants)
        )
        assert overload.meaning.__doc__


def test_overloads_are_chosen_by_kinds_in_order() -> None:
    """The first overload that takes all arguments is the one."""
    plus = FUNCTIONS["+", False]
    chosen = plus.choose([b"a", b"b"])
    assert chosen is not None
    assert str(chosen.signature) == "+(bytes, bytes) -> bytes"
    assert plus.choose([1, 1.0]) is None
    assert plus.choose([1]) is None


def test_variadic_functions_take_many_arguments() -> None:
    """A variadic function takes up to sixteen arguments; a list may have more."""
    greatest = FUNCTIONS["math.greatest", False]
    assert greatest.choose([1] * 16) is not None
    assert greatest.choose([1] * 17) is None
    assert greatest.choose([[1] * 17]) is not None
