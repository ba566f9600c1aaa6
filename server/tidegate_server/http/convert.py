"""Convert plain data to attrs classes by their types, and report all findings at once.

msgspec reads the single values. By itself it ignores unknown members and stops at the first
mistake. Here an unknown member is a mistake, and objects and lists are walked to find all mistakes.
"""

from __future__ import annotations

import re
import types
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.language.tree.diagnostics import nearest, quote
from tidegate.policy.definitions.findings import MAX_FINDINGS, pointer_to
from tidegate_server.http.problems import ErrorDetail, Problem

_T = TypeVar("_T")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LONGEST_NAME = 100
"""Every member's name is shorter."""


_ANSWERS: dict[Any, Any] = {}


def answered_as(answer: Any, *bodies: Any) -> None:
    """Declare that objects written as any of ``bodies`` are answered as ``answer``."""
    _ANSWERS.update(dict.fromkeys(bodies, answer))


def answer_of(body: Any) -> Any:
    """Return the answer class of objects written as ``body``; None if there isn't one."""
    return _ANSWERS.get(body)


@cache
def read_only_types(shape: Any) -> dict[str, Any]:
    """Return the members that an object's answer has and the body of a write doesn't."""
    answer = answer_of(shape)
    if answer is None:
        return {}
    written = member_types(shape)
    return {name: kind for name, kind in member_types(answer).items() if name not in written}


def convert_body(
    value: Any, shape: type[_T], given_back: dict[str, dict[str, Any]] | None = None
) -> _T:
    """Convert the value of a JSON body to an instance of an attrs class.

    Args:
        value: the body.
        shape: the class.
        given_back: collects read-only members, by the pointer of their object; without it they
            count as unknown members.

    Raises:
        Problem: ``invalid-request``, with a JSON pointer for each finding.
    """
    walk = _Walk(is_text=False, given_back=given_back)
    made: _T = walk.whole(value, shape)
    if walk.findings:
        errors = [
            ErrorDetail(detail=each.detail, code=each.code, pointer=each.place, hint=each.hint)
            for each in walk.findings
        ]
        raise Problem("invalid-request", "the body is not valid", errors=errors)
    return made


def convert_parameters(values: dict[str, str], shape: type[_T]) -> _T:
    """Convert the texts of query parameters to an instance of an attrs class.

    Raises:
        Problem: ``invalid-request``, with the parameter of each finding.
    """
    walk = _Walk(is_text=True)
    made: _T = walk.whole(values, shape)
    if walk.findings:
        errors = [
            ErrorDetail(
                detail=each.detail, code=each.code, parameter=each.place[1:], hint=each.hint
            )
            for each in walk.findings
        ]
        raise Problem("invalid-request", "a query parameter is not valid", errors=errors)
    return made


@cache
def member_types(shape: Any) -> dict[str, Any]:
    """Return the members of an attrs class and their types, in order."""
    hints = get_type_hints(shape, include_extras=True)
    return {each.name: hints[each.name] for each in attrs.fields(shape)}


@attrs.frozen
class _Finding:
    code: str
    detail: str
    place: str
    hint: str | UnsetType = UNSET


class _EnoughError(Exception):
    """The maximum number of findings is reached."""


class _Walk:
    def __init__(
        self, *, is_text: bool, given_back: dict[str, dict[str, Any]] | None = None
    ) -> None:
        self.findings: list[_Finding] = []
        self._is_text = is_text
        self._given_back = given_back

    def whole(self, value: Any, shape: Any) -> Any:
        """Convert a body or parameters; stop at the maximum number of findings."""
        try:
            return self.value(value, shape, "")
        except _EnoughError:
            return None

    def value(self, value: Any, shape: Any, pointer: str) -> Any:
        """Convert a value to a type; if it doesn't fit, add a finding and return None."""
        if value is None and _takes_null(shape):
            return None
        inner = _inner(shape)
        if attrs.has(inner):
            return self._object(value, inner, pointer)
        if get_origin(inner) in (list, tuple) and isinstance(value, list):
            return self._list(value, shape, inner, pointer)
        if get_origin(inner) is dict and isinstance(value, dict):
            return self._map(value, shape, inner, pointer)
        return self._leaf(value, shape, pointer)

    def _object(self, value: Any, shape: Any, pointer: str) -> Any:
        if not isinstance(value, dict):
            self._report("wrong-type", f"expected an object, found {_kind(value)}", pointer)
            return None
        known = member_types(shape)
        others = [name for name in value if name not in known]
        if self._given_back is not None:
            answered = read_only_types(shape)
            back = {name: value[name] for name in answered if name in others}
            for name, each in back.items():
                self.value(each, answered[name], pointer_to(pointer, name))
            if back:
                self._given_back[pointer] = back
            others = [name for name in others if name not in back]
        for name in others:
            meant = nearest(name[:_LONGEST_NAME], known)
            hint = f"did you mean `{meant}`?" if meant else "known are " + ", ".join(known)
            message = f"unknown member {quote(name)}"
            self._report("unknown-member", message, pointer_to(pointer, name), hint)
        made = {}
        for attribute in attrs.fields(shape):
            name = attribute.name
            if name in value:
                made[name] = self.value(value[name], known[name], pointer_to(pointer, name))
            elif attribute.default is attrs.NOTHING:
                self._report("missing-member", f"`{name}` is missing", pointer)
        return None if self.findings else shape(**made)

    def _list(self, value: list[Any], shape: Any, inner: Any, pointer: str) -> Any:
        item = get_args(inner)[0]
        if not attrs.has(_inner(item)):
            try:
                return msgspec.convert(value, shape)
            except msgspec.ValidationError:
                pass  # check each item, to report which ones
        bounds = _length_bounds(shape)
        if not bounds[0] <= len(value) <= bounds[1]:
            message = f"{len(value)} items, but from {bounds[0]} to {bounds[1]} may be given"
            self._report("wrong-length", message, pointer)
            return None
        made = [self.value(each, item, pointer_to(pointer, at)) for at, each in enumerate(value)]
        return tuple(made) if get_origin(inner) is tuple else made

    def _map(self, value: dict[str, Any], shape: Any, inner: Any, pointer: str) -> Any:
        try:
            return msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            found = len(self.findings)
            for name, each in value.items():
                self.value(each, get_args(inner)[1], pointer_to(pointer, name))
            if len(self.findings) == found:
                self._report("invalid-value", _message(error), pointer)
            return None

    def _leaf(self, value: Any, shape: Any, pointer: str) -> Any:
        if self._is_text:
            value = _from_text(value, _inner(shape))
        if isinstance(value, float) and value.is_integer() and _inner(shape) is int:
            # In JSON 1.0 is the same number as 1.
            value = int(value)
        try:
            return msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            self._report("invalid-value", _message(error), pointer, _hint(shape))
            return None

    def _report(self, code: str, detail: str, place: str, hint: str | UnsetType = UNSET) -> None:
        self.findings.append(_Finding(code, detail, place, hint))
        if len(self.findings) >= MAX_FINDINGS:
            raise _EnoughError


def _from_text(text: str, kind: Any) -> Any:
    """Parse a parameter's number or bool; each is written in one way, never as null."""
    if kind is bool:
        return {"true": True, "false": False}.get(text, text)
    if kind is int and _WHOLE.fullmatch(text):
        return int(text)
    return text


def _message(error: msgspec.ValidationError) -> str:
    message = str(error).partition(" - at `")[0]
    return message[0].lower() + message[1:]


@cache
def _arms(shape: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type alone."""
    if get_origin(shape) is Annotated:
        return _arms(get_args(shape)[0])
    if get_origin(shape) in (Union, types.UnionType):
        return get_args(shape)
    return (shape,)


def _takes_null(shape: Any) -> bool:
    return type(None) in _arms(shape)


@cache
def _inner(shape: Any) -> Any:
    """Return the one type of a union that is neither null nor unset, without its bounds."""
    arms = [each for each in _arms(shape) if each not in (type(None), UnsetType)]
    if len(arms) == 1 and get_origin(arms[0]) is Annotated:
        return _inner(get_args(arms[0])[0])
    return arms[0] if len(arms) == 1 else shape


def _length_bounds(shape: Any) -> tuple[int, float]:
    lowest, highest = 0, float("inf")
    for each in (shape, *_arms(shape)):
        for meta in get_args(each)[1:] if get_origin(each) is Annotated else ():
            if isinstance(meta, Meta):
                lowest = max(lowest, meta.min_length or 0)
                highest = min(highest, meta.max_length or highest)
    return lowest, highest


def _hint(shape: Any) -> str | UnsetType:
    """Return a type's hint in ``extra`` for values that don't fit."""
    metas = get_args(shape)[1:] if get_origin(shape) is Annotated else ()
    hints = (each.extra["hint"] for each in metas if each.extra and "hint" in each.extra)
    return next(hints, UNSET)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a bool"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return "an object"
