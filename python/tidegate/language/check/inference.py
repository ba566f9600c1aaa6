"""Type inference: which type may replace which, and the values of type parameters.

The rules are those of the published type checker (cel-go's ``checker/types.go``): ``dyn`` agrees
with everything, a type parameter takes the most general of the types it meets, and null agrees with
optionals, times and abstract types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.types import (
    CIDR,
    DURATION,
    DYN,
    IP,
    NULL,
    TIMESTAMP,
    TYPE,
    AbstractType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    Signature,
    Type,
    TypeParam,
    TypeType,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NULLABLE = (TIMESTAMP, DURATION, IP, CIDR)


def parameters(kind: Type) -> tuple[Type, ...]:
    """The types that a type contains."""
    match kind:
        case ListType(element):
            return (element,)
        case MapType(key, value):
            return (key, value)
        case OptionalType(value):
            return (value,)
        case TypeType(of):
            return (of,)
        case AbstractType(_, of):
            return of
        case _:
            return ()


def rebuilt(kind: Type, parts: Sequence[Type]) -> Type:
    """The same type with other parts."""
    match kind:
        case ListType():
            return ListType(parts[0])
        case MapType():
            return MapType(parts[0], parts[1])
        case OptionalType():
            return OptionalType(parts[0])
        case TypeType():
            return TypeType(parts[0])
        case AbstractType(name, _):
            return AbstractType(name, tuple(parts))
        case _:
            return kind


class Inference:
    """Facts about the type parameters of one expression."""

    def __init__(self) -> None:
        self._known: dict[TypeParam, Type] = {}
        self._made = 0

    def fresh(self) -> TypeParam:
        """A parameter about which nothing is known yet."""
        self._made += 1
        return TypeParam(f"_{self._made}")

    def instantiate(self, signature: Signature) -> tuple[tuple[Type, ...], Type]:
        """Parameters and result of a signature, with fresh type parameters."""
        fresh: dict[TypeParam, Type] = {}
        params = tuple([self._renamed(kind, fresh) for kind in signature.params])
        return params, self._renamed(signature.result, fresh)

    def agree(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Whether the given types agree with the wanted ones; if so, that is remembered."""
        if len(given) != len(wanted):
            return False
        before = self._known.copy() if self._known or any(map(parameters, wanted)) else None
        for one, other in zip(given, wanted, strict=True):
            if not self._assignable(one, other):
                self._known = {} if before is None else before
                return False
        return True

    def resolve(self, kind: Type) -> Type:
        """The type with every known parameter replaced."""
        if isinstance(kind, Primitive):
            return kind
        if isinstance(kind, TypeParam):
            known = self._known.get(kind)
            return kind if known is None else self.resolve(known)
        parts = parameters(kind)
        resolved = [self.resolve(part) for part in parts]
        if all(old is new for old, new in zip(parts, resolved, strict=True)):
            return kind
        return rebuilt(kind, resolved)

    def settle(self, kind: Type) -> Type:
        """The type with known parameters replaced, and the others by ``dyn``."""
        if isinstance(kind, Primitive):
            return kind
        kind = self.resolve(kind)
        if isinstance(kind, TypeParam):
            return DYN
        return rebuilt(kind, [self.settle(part) for part in parameters(kind)])

    def join(self, kinds: Iterable[Type]) -> Type:
        """One type for the elements of an aggregate: ``dyn`` if they do not agree."""
        joined: Type | None = None
        for kind in kinds:
            if joined is None or joined is kind:
                joined = kind
            elif joined is not DYN:
                joined = _most_general(joined, kind) if self.agree([joined], [kind]) else DYN
        return self.fresh() if joined is None else joined

    def _renamed(self, kind: Type, fresh: dict[TypeParam, Type]) -> Type:
        if isinstance(kind, Primitive):
            return kind
        if isinstance(kind, TypeParam):
            if kind not in fresh:
                fresh[kind] = self.fresh()
            return fresh[kind]
        return rebuilt(kind, [self._renamed(part, fresh) for part in parameters(kind)])

    def _assignable(self, given: Type, wanted: Type) -> bool:
        if given is wanted:
            return True
        if isinstance(wanted, TypeParam):
            valid, known = self._substitutes(given, wanted)
            if valid or known:
                return valid
        if isinstance(given, TypeParam):
            return self._substitutes(wanted, given)[0]
        if given is DYN or wanted is DYN:
            return True
        if given is NULL or wanted is NULL:
            return _is_nullable(wanted if given is NULL else given)
        if TYPE in (given, wanted):
            return isinstance(given, TypeType) or isinstance(wanted, TypeType)
        if type(given) is not type(wanted) or isinstance(given, Primitive):
            return False
        if isinstance(given, TypeType):
            return True
        if isinstance(given, AbstractType) and given.name != getattr(wanted, "name", None):
            return False
        ours, theirs = parameters(given), parameters(wanted)
        return len(ours) == len(theirs) and all(
            self._assignable(one, other) for one, other in zip(ours, theirs, strict=True)
        )

    def _substitutes(self, kind: Type, param: TypeParam) -> tuple[bool, bool]:
        """Whether ``kind`` may replace ``param``, and whether that was already known."""
        if kind == param:
            return True, True
        known = self._known.get(param)
        if known is None:
            if self._occurs(param, kind):
                return False, False
            self._known[param] = kind
            return True, False
        if known == kind:
            return True, True
        if not self._assignable(kind, known):
            return False, True
        general = _most_general(kind, known)
        if not self._occurs(param, general):
            self._known[param] = general
        return True, True

    def _occurs(self, param: TypeParam, kind: Type) -> bool:
        if isinstance(kind, TypeParam):
            known = self._known.get(kind)
            return kind == param or (known is not None and self._occurs(param, known))
        return any(self._occurs(param, part) for part in parameters(kind))


def _is_nullable(kind: Type) -> bool:
    return kind is NULL or kind in _NULLABLE or isinstance(kind, (OptionalType, AbstractType))


def _most_general(one: Type, other: Type) -> Type:
    if other is NULL:
        return one
    return one if _covers(one, other) else other


def _covers(one: Type, other: Type) -> bool:
    """Whether ``one`` is the other type or a less specific one."""
    if one is DYN or isinstance(one, TypeParam):
        return True
    if other is DYN or isinstance(other, TypeParam) or type(one) is not type(other):
        return False
    if isinstance(one, Primitive):
        return one is other
    if isinstance(one, TypeType):
        return True
    if isinstance(one, AbstractType) and one.name != getattr(other, "name", None):
        return False
    ours, theirs = parameters(one), parameters(other)
    return len(ours) == len(theirs) and all(map(_covers, ours, theirs))
