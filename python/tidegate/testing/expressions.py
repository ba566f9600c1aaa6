"""Generated expressions: from a wanted type to text that mostly checks.

A production is chosen for the wanted type, so most expressions make sense. Functions come from
``tidegate.functions.FUNCTIONS`` by their signatures, so a new one is generated as soon as it is
declared.  Occasionally ``dyn`` hides an operand of another type: then the evaluators must agree on
the error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.functions import FUNCTIONS
from tidegate.language.tree.checked import PHRASE_TESTS
from tidegate.testing import patterns, vocabulary
from tidegate.testing.choices import happens, pick
from tidegate.testing.vocabulary import KEY_TYPES, any_type, string_literal
from tidegate.types import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    TYPE,
    ListType,
    MapType,
    OptionalType,
    Signature,
    Type,
    TypeParam,
    TypeType,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tidegate.language.tree.schema import Schema
    from tidegate.testing.choices import Choices

_MAX_ARGUMENTS = 3
_MAX_MACROS = 3
_INFIX = frozenset("+ - * / % == != < <= > >= in".split())  # noqa: SIM905 - reads as the operators
_SORTED = (INT, STRING, DOUBLE, BOOL, TIMESTAMP)
_BOUND_NAMES = ("x", "y", "k", "v", "acc")

Bindings = dict[str, Type]


@lru_cache(maxsize=4096)
def producers(wanted: Type) -> tuple[tuple[Signature, tuple[tuple[str, Type], ...]], ...]:
    """Every overload with a result that may be ``wanted``, and the type parameters this implies.

    A function with very many overloads has one entry.
    """
    found = []
    for function in FUNCTIONS.values():
        for overload in function.overloads:
            signature = overload.signature
            bindings: Bindings = {}
            if len(signature.params) <= _MAX_ARGUMENTS and _fits(
                signature.result, wanted, bindings
            ):
                found.append((signature, tuple(bindings.items())))
    return tuple(found)


def _fits(pattern: Type, wanted: Type, bindings: Bindings) -> bool:
    match pattern, wanted:
        case TypeParam(name=name), _:
            return bindings.setdefault(name, wanted) == wanted
        case ListType(element=a), ListType(element=b):
            return _fits(a, b, bindings)
        case MapType(key=a, value=b), MapType(key=c, value=d):
            return _fits(a, c, bindings) and _fits(b, d, bindings)
        case OptionalType(value=a), OptionalType(value=b):
            return _fits(a, b, bindings)
        case TypeType(), _:
            return wanted is TYPE
        case _:
            return pattern is wanted


def _filled(pattern: Type, bindings: Mapping[str, Type]) -> Type:
    match pattern:
        case TypeParam(name=name):
            return bindings[name]
        case ListType(element=element):
            return ListType(_filled(element, bindings))
        case MapType(key=key, value=value):
            return MapType(_filled(key, bindings), _filled(value, bindings))
        case OptionalType(value=value):
            return OptionalType(_filled(value, bindings))
        case _:
            return pattern


def _params(pattern: Type) -> set[str]:
    match pattern:
        case TypeParam(name=name):
            return {name}
        case ListType(element=inner) | OptionalType(value=inner):
            return _params(inner)
        case MapType(key=key, value=value):
            return _params(key) | _params(value)
        case _:
            return set()


# Requirements on an argument for a call to make sense, if its type does not express them.
_CONSTANTS: Mapping[tuple[str, int], Sequence[str]] = {
    ("matches", 1): vocabulary.PATTERNS,
    ("regex.extract", 1): vocabulary.PATTERNS,
    ("regex.extractAll", 1): vocabulary.PATTERNS,
    ("regex.replace", 1): vocabulary.PATTERNS,
    ("regex.replace", 2): ("", "b", r"[\0]", "\\\\"),
    ("like", 1): vocabulary.GLOBS,
    ("ilike", 1): vocabulary.GLOBS,
    ("inList", 1): tuple(vocabulary.LISTS),
    ("ip", 0): vocabulary.ADDRESSES,
    ("cidr", 0): vocabulary.NETWORKS,
    ("inIpRange", 1): (*vocabulary.NETWORKS, *vocabulary.ADDRESSES),
    ("containsIP", 1): vocabulary.ADDRESSES,
    ("containsCIDR", 1): vocabulary.NETWORKS,
    **{
        (name, 1): vocabulary.ZONES
        for name, member in FUNCTIONS
        if member and name.startswith("get")
    },
}
_FREE = frozenset({"ip", "cidr", "containsIP", "containsCIDR"}) | {
    name for name, member in FUNCTIONS if member and name.startswith("get")
}
"""Functions that also take computed text where the table has constants."""
_VERBS = (("%s", None), ("%d", INT), ("%.3f", None), ("%x", STRING), ("%e", None), ("%b", INT))


@attrs.define
class _Scope:
    """Variables of the enclosing macros, by name."""

    variables: dict[str, Type]
    macros: int


class ExpressionGenerator:
    """Generates expressions over a schema; ``literals`` collects the values they mention."""

    def __init__(self, choices: Choices, schema: Schema) -> None:
        self._choices = choices
        self._fields: dict[Type, list[str]] = {}
        for name, kind in schema.fields.items():
            self._fields.setdefault(kind, []).append(name)
        self._lists = bool(schema.lists)
        self.literals: dict[Type, list[Any]] = {}

    def expression(self, wanted: Type = BOOL, depth: int = 4) -> str:
        """The text of an expression of a type."""
        return self._make(wanted, depth, _Scope({}, 0))

    # Dispatch

    def _make(self, wanted: Type, depth: int, scope: _Scope) -> str:
        choices = self._choices
        if depth <= 0:
            return self._leaf(wanted, scope)
        if happens(choices, 2):
            return f"dyn({self._make(any_type(choices), depth - 1, scope)})"
        roll = choices.below(100)
        if roll < 15:
            return self._leaf(wanted, scope)
        if roll < 60 and producers(wanted):
            return self._call(wanted, depth - 1, scope)
        if roll < 75:
            return self._shape(wanted, depth - 1, scope)
        return pick(choices, self._anywhere)(wanted, depth - 1, scope)

    @property
    def _anywhere(self) -> tuple[Callable[[Type, int, _Scope], str], ...]:
        return (
            self._conditional,
            self._index,
            self._select,
            self._bind,
            self._block,
            self._or_value,
            self._entry,
        )

    def _shape(self, wanted: Type, depth: int, scope: _Scope) -> str:
        """A production for this kind of type only."""
        match wanted:
            case ListType(element=element):
                return pick(self._choices, (self._list, self._map_macro))(element, depth, scope)
            case MapType():
                return pick(self._choices, (self._map, self._transform))(wanted, depth, scope)
            case OptionalType(value=value):
                return self._optional(value, depth, scope)
            case _ if wanted is BOOL:
                return pick(self._choices, (self._logic, self._logic, self._test, self._presence))(
                    depth, scope
                )
            case _ if wanted is STRING:
                return self._format(depth, scope)
            case _:
                return self._call(wanted, depth, scope)

    # Leaves

    def _leaf(self, wanted: Type, scope: _Scope) -> str:
        locals_ = [name for name, kind in scope.variables.items() if kind == wanted]
        if locals_ and happens(self._choices, 70):
            return pick(self._choices, locals_)
        if wanted in self._fields and happens(self._choices, 50):
            return pick(self._choices, self._fields[wanted])
        return self._literal(wanted)

    def _literal(self, wanted: Type) -> str:
        match wanted:
            case ListType(element=element):
                parts = [self._literal(element) for _ in range(self._choices.below(4))]
                return f"[{', '.join(parts)}]"
            case MapType(key=key, value=value):
                return f"{{{self._literal(_key(key))}: {self._literal(value)}}}"
            case OptionalType(value=value):
                return f"optional.of({self._literal(value)})"
            case TypeType() | TypeParam():
                return "int"
            case _ if wanted is DYN:
                return f"dyn({self._literal(pick(self._choices, vocabulary.SCALAR_TYPES))})"
            case _:
                content = vocabulary.scalar(self._choices, wanted)
                self.literals.setdefault(wanted, []).append(content)
                return vocabulary.literal(content)

    # Functions and operators

    def _call(self, wanted: Type, depth: int, scope: _Scope) -> str:
        options = producers(wanted)
        if not options:
            return self._leaf(wanted, scope)
        signature, known = pick(self._choices, options)
        if _names_list(signature) and not self._lists:
            return self._leaf(wanted, scope)
        bindings = dict(known)
        for name in sorted(set().union(*map(_params, signature.params)) - bindings.keys()):
            bindings[name] = any_type(self._choices, 1)
        texts = [
            self._argument(signature, at, _filled(param, bindings), depth, scope)
            for at, param in enumerate(signature.params)
        ]
        return _applied(signature, texts)

    def _argument(
        self, signature: Signature, at: int, kind: Type, depth: int, scope: _Scope
    ) -> str:
        constants = _CONSTANTS.get((signature.name, at))
        if at == 1 and signature.name in PHRASE_TESTS and kind is STRING:
            constants = ("words",)
        if constants is None or kind not in (STRING, ListType(STRING)):
            if signature.name == "matchesAny" and at == 1:
                return self._constant_list(vocabulary.PATTERNS)
            return self._make(kind, depth, scope)
        if signature.name in _FREE and happens(self._choices, 30):
            return self._make(kind, depth, scope)
        if kind is not STRING:
            return self._constant_list(constants)
        chosen = pick(self._choices, constants)
        if constants is vocabulary.PATTERNS and happens(self._choices, 50):
            chosen = patterns.pattern(self._choices)
        self.literals.setdefault(STRING, []).append(chosen)
        return string_literal(chosen)

    def _constant_list(self, constants: Sequence[str]) -> str:
        parts = [pick(self._choices, constants) for _ in range(self._choices.below(4))]
        return f"[{', '.join(map(string_literal, parts))}]"

    def _format(self, depth: int, scope: _Scope) -> str:
        verbs = [pick(self._choices, _VERBS) for _ in range(self._choices.below(3))]
        text = "".join(f"{verb} " for verb, _ in verbs)
        parts = [
            self._make(kind or any_type(self._choices, 1), depth - 1, scope) for _, kind in verbs
        ]
        return f"{string_literal(text)}.format([{', '.join(parts)}])"

    # Anywhere

    def _conditional(self, wanted: Type, depth: int, scope: _Scope) -> str:
        condition = self._make(BOOL, depth, scope)
        then, otherwise = (self._make(wanted, depth, scope) for _ in range(2))
        return f"({condition} ? {then} : {otherwise})"

    def _index(self, wanted: Type, depth: int, scope: _Scope) -> str:
        if happens(self._choices, 50):
            operand = self._make(ListType(wanted), depth, scope)
            return f"{operand}[{self._make(INT, depth - 2, scope)}]"
        key = pick(self._choices, KEY_TYPES)
        operand = self._make(MapType(key, wanted), depth, scope)
        return f"{operand}[{self._make(key, depth - 2, scope)}]"

    def _select(self, wanted: Type, depth: int, scope: _Scope) -> str:
        operand = self._make(MapType(STRING, wanted), depth, scope)
        name = pick(self._choices, ("a", "b", "abc", "host", "ok", "`x-token`"))
        return f"{operand}.{name}"

    def _bind(self, wanted: Type, depth: int, scope: _Scope) -> str:
        kind = any_type(self._choices, 1)
        name = pick(self._choices, _BOUND_NAMES)
        content = self._make(kind, depth, scope)
        inner = _Scope({**scope.variables, name: kind}, scope.macros)
        return f"cel.bind({name}, {content}, {self._make(wanted, depth, inner)})"

    def _block(self, wanted: Type, depth: int, scope: _Scope) -> str:
        if any(name.startswith("cel.index(") for name in scope.variables):
            return self._bind(wanted, depth, scope)
        values: list[str] = []
        inner = scope
        for at in range(1 + self._choices.below(3)):
            kind = any_type(self._choices, 1)
            values.append(self._make(kind, depth - 1, inner))
            inner = _Scope({**inner.variables, f"cel.index({at})": kind}, scope.macros)
        return f"cel.block([{', '.join(values)}], {self._make(wanted, depth - 1, inner)})"

    def _or_value(self, wanted: Type, depth: int, scope: _Scope) -> str:
        optional = self._make(OptionalType(wanted), depth, scope)
        if happens(self._choices, 30):
            return f"{optional}.value()"
        return f"{optional}.orValue({self._make(wanted, depth - 1, scope)})"

    def _entry(self, wanted: Type, _depth: int, scope: _Scope) -> str:
        """An entry of a map in the event, such as a header."""
        texts = self._fields.get(MapType(STRING, STRING))
        if wanted is not STRING or not texts:
            return self._leaf(wanted, scope)
        name = pick(self._choices, vocabulary.WORDS)
        self.literals.setdefault(STRING, []).append(name)
        return f"{pick(self._choices, texts)}[{string_literal(name)}]"

    # Of bool

    def _logic(self, depth: int, scope: _Scope) -> str:
        operator = pick(self._choices, (" && ", " || "))
        parts = [self._make(BOOL, depth, scope) for _ in range(2 + self._choices.below(2))]
        return f"({operator.join(parts)})"

    def _test(self, depth: int, scope: _Scope) -> str:
        """all, exists or exists_one, over a list or map, with one or two variables."""
        macro = pick(self._choices, ("all", "exists", "exists_one", "existsOne"))
        opened = self._open(depth, scope, two=happens(self._choices, 30) or macro == "existsOne")
        if opened is None:
            return self._leaf(BOOL, scope)
        operand, names, inner = opened
        return f"{operand}.{macro}({names}, {self._make(BOOL, depth - 1, inner)})"

    def _presence(self, depth: int, scope: _Scope) -> str:
        fields = [name for names in self._fields.values() for name in names if "." in name]
        if fields and happens(self._choices, 40):
            return f"has({pick(self._choices, fields)})"
        operand = self._make(MapType(STRING, any_type(self._choices, 0)), depth, scope)
        return f"has({operand}.{pick(self._choices, ('a', 'host', 'ok', '`x-token`'))})"

    # Of lists, maps and optionals

    def _list(self, element: Type, depth: int, scope: _Scope) -> str:
        parts = []
        for _ in range(self._choices.below(4)):
            if happens(self._choices, 15):
                parts.append("?" + self._make(OptionalType(element), depth, scope))
            else:
                parts.append(self._make(element, depth, scope))
        return f"[{', '.join(parts)}]"

    def _map(self, wanted: MapType, depth: int, scope: _Scope) -> str:
        parts = []
        for _ in range(self._choices.below(4)):
            key = self._make(_key(wanted.key), depth - 2, scope)
            if happens(self._choices, 15):
                parts.append(f"?{key}: {self._make(OptionalType(wanted.value), depth, scope)}")
            else:
                parts.append(f"{key}: {self._make(wanted.value, depth, scope)}")
        return f"{{{', '.join(parts)}}}"

    def _optional(self, value: Type, depth: int, scope: _Scope) -> str:
        match self._choices.below(5):
            case 0:
                return f"optional.of({self._make(value, depth, scope)})"
            case 1:
                operand = self._make(MapType(STRING, value), depth, scope)
                return f"{operand}.?{pick(self._choices, ('a', 'b', 'ok'))}"
            case 2:
                operand = self._make(ListType(value), depth, scope)
                return f"{operand}[?{self._make(INT, depth - 2, scope)}]"
            case macro:
                return self._optional_macro(value, depth, scope, flat=macro == 3)

    def _optional_macro(self, value: Type, depth: int, scope: _Scope, *, flat: bool) -> str:
        kind = any_type(self._choices, 0)
        name = pick(self._choices, _BOUND_NAMES)
        operand = self._make(OptionalType(kind), depth, scope)
        inner = _Scope({**scope.variables, name: kind}, scope.macros)
        body = self._make(OptionalType(value) if flat else value, depth, inner)
        return f"{operand}.{'optFlatMap' if flat else 'optMap'}({name}, {body})"

    def _map_macro(self, element: Type, depth: int, scope: _Scope) -> str:
        """map, filter, sortBy or transformList; the resulting list has ``element``."""
        macro = pick(self._choices, ("map", "map", "filter", "sortBy", "transformList"))
        if macro in ("filter", "sortBy"):
            return self._filter(macro, element, depth, scope)
        opened = self._open(depth, scope, two=macro == "transformList")
        if opened is None:
            return self._leaf(ListType(element), scope)
        operand, names, inner = opened
        body = self._make(element, depth - 1, inner)
        condition = f"{self._make(BOOL, depth - 1, inner)}, " if happens(self._choices, 40) else ""
        return f"{operand}.{macro}({names}, {condition}{body})"

    def _filter(self, macro: str, element: Type, depth: int, scope: _Scope) -> str:
        """filter or sortBy, which keep the elements as they are."""
        if scope.macros >= _MAX_MACROS:
            return self._leaf(ListType(element), scope)
        name = pick(self._choices, _BOUND_NAMES)
        inner = _Scope({**scope.variables, name: element}, scope.macros + 1)
        operand = self._make(ListType(element), depth, _Scope(scope.variables, scope.macros + 1))
        kind = BOOL if macro == "filter" else pick(self._choices, _SORTED)
        return f"{operand}.{macro}({name}, {self._make(kind, depth - 1, inner)})"

    def _transform(self, wanted: MapType, depth: int, scope: _Scope) -> str:
        opened = self._open(depth, scope, two=True, keys=wanted.key)
        if opened is None:
            return self._leaf(wanted, scope)
        operand, names, inner = opened
        condition = f"{self._make(BOOL, depth - 1, inner)}, " if happens(self._choices, 40) else ""
        if happens(self._choices, 30):
            key, value = self._make(_key(wanted.key), 1, inner), self._make(wanted.value, 1, inner)
            return f"{operand}.transformMapEntry({names}, {condition}{{{key}: {value}}})"
        body = self._make(wanted.value, depth - 1, inner)
        return f"{operand}.transformMap({names}, {condition}{body})"

    def _open(
        self, depth: int, scope: _Scope, *, two: bool, keys: Type | None = None
    ) -> tuple[str, str, _Scope] | None:
        """The range of a macro, the variables it declares, and the scope of its body."""
        if scope.macros >= _MAX_MACROS:
            return None
        element = any_type(self._choices, 0)
        over_map = keys not in (None, INT) or happens(self._choices, 30)
        key = keys if keys is not None and over_map else pick(self._choices, KEY_TYPES)
        outer = _Scope(scope.variables, scope.macros + 1)
        operand = self._make(MapType(key, element) if over_map else ListType(element), depth, outer)
        first = pick(self._choices, _BOUND_NAMES[:3])
        if not two:
            kinds = {first: key if over_map else element}
        else:
            kinds = {first: key if over_map else INT, "v": element}
        return operand, ", ".join(kinds), _Scope({**scope.variables, **kinds}, scope.macros + 1)


def _names_list(signature: Signature) -> bool:
    """Whether a function is given the name of a list."""
    name = signature.name
    return name == "inList" or (name in PHRASE_TESTS and signature.params[1] is STRING)


def _key(kind: Type) -> Type:
    return kind if kind in KEY_TYPES else STRING


def _applied(signature: Signature, texts: Sequence[str]) -> str:
    name = signature.name
    if name in _INFIX and len(texts) == 2:
        return f"({texts[0]} {name} {texts[1]})"
    if name in ("-", "!"):
        return f"{name}({texts[0]})"
    if signature.member:
        return f"{_receiver(texts[0])}.{name}({', '.join(texts[1:])})"
    return f"{name}({', '.join(texts)})"


def _receiver(text: str) -> str:
    return f"({text})" if text[0] == "-" or text[0].isdigit() else text


RESULT_TYPES = (BOOL, BOOL, BOOL, BOOL, STRING, INT, *vocabulary.SCALAR_TYPES)
"""Types requested for generated programs, useful ones more often."""
