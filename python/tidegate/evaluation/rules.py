"""Compiled rules behind one interface for both evaluators.

The *bundle* is the canonical form of a set: JSON with the fields and lists the
rules were checked against and the canonical tree of each. The native
evaluator is built from its bytes; the reference reads the same trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import attrs
import orjson

from tidegate.errors import CanonicalFormError, EvaluationError, EventError, ExpressionError
from tidegate.evaluation import reference
from tidegate.evaluation.document import Compiled, Document, Programs
from tidegate.evaluation.encoder import encode, is_variable
from tidegate.evaluation.envelope import Context, PreparedContext, Strictness, admit
from tidegate.evaluation.matches import Matches
from tidegate.language import canonical
from tidegate.language.tree.form import VERSION
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT, Limits
from tidegate.types import NamedList, parse_type
from tidegate.values import to_python

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tidegate.evaluation.outcome import Outcome
    from tidegate.language.check.checker import CheckedExpression
    from tidegate.language.tree.checked import Checked
    from tidegate.values import Network

Evaluator: TypeAlias = Literal["native", "reference"]


class Rules(Protocol):
    """A compiled set: the base for a program and for a rule set."""

    document: Document

    def __len__(self) -> int: ...
    def with_changes(self, programs: Programs, removed: Collection[str]) -> Rules: ...
    def prepare(
        self, context: Mapping[str, Any] | bytes, events: Strictness = ...
    ) -> PreparedContext: ...
    def outcome(self, index: int, context: Context) -> Outcome: ...
    def evaluate(self, index: int, context: Context) -> Any: ...
    def match(self, context: Context, errors: bool) -> Matches: ...
    def match_batch(
        self, contexts: Sequence[Context], errors: bool
    ) -> list[Matches | EventError]: ...
    def stats(self) -> dict[str, Any]: ...


def bundle(
    checked: Mapping[str, CheckedExpression],
    schema: Schema,
    limits: Limits = DEFAULT,
    trusted_proxies: Iterable[Network] = (),
) -> bytes:
    """Serialise a set of checked expressions in canonical form, as JSON.

    Args:
        checked: the expressions, by name.
        schema: their fields and lists.
        limits: of the evaluation.
        trusted_proxies: networks whose entries in ``x-forwarded-for`` are skipped; the native
            evaluator reads them.
    """
    trusted = [str(each.network) for each in trusted_proxies]
    return orjson.dumps(
        {
            "version": VERSION,
            "fields": {name: str(type_) for name, type_ in schema.fields.items()},
            "lists": {name: attrs.asdict(named) for name, named in schema.lists.items()},
            "limits": attrs.asdict(limits),
            **({"trusted_proxies": trusted} if trusted else {}),
            "programs": [orjson.Fragment(one) for one in to_programs(checked).values()],
        }
    )


def to_programs(checked: Mapping[str, CheckedExpression]) -> Programs:
    """The canonical form of checked expressions, by id."""
    return {
        name: orjson.dumps({"id": name, **canonical.to_json(one)}) for name, one in checked.items()
    }


def schema_of(document: Mapping[str, Any]) -> Schema:
    """The fields and lists in a set's canonical form."""
    fields = {name: parse_type(text) for name, text in document["fields"].items()}
    lists = {
        name: NamedList(named["kind"], tuple(named["entries"]))
        for name, named in document["lists"].items()
    }
    return Schema(fields, lists)


def _limits_of(members: Mapping[str, Any]) -> Limits:
    """The limits in a canonical form; unknown members from an earlier version are ignored."""
    known = attrs.fields_dict(Limits)
    return Limits(**{name: value for name, value in members.items() if name in known})


def compile_rules(
    checked: Mapping[str, CheckedExpression],
    schema: Schema,
    evaluator: Evaluator,
    sample: Sequence[bytes] = (),
) -> Rules:
    """Compile checked expressions for an evaluator."""
    return read_rules(bundle(checked, schema), evaluator, sample)


def read_rules(data: bytes, evaluator: Evaluator, sample: Sequence[bytes] = ()) -> Rules:
    """Compile a set from its canonical form; ``sample`` has events for training its index."""
    if evaluator == "native":
        # Imported here, since the reference needs no extension.
        from tidegate.evaluation.native import NativeRules

        return NativeRules(data, sample)
    if evaluator == "reference":
        return ReferenceRules(data)
    raise ValueError(f'there is no evaluator `{evaluator}`; it is "native" or "reference"')


def _read_document(data: bytes) -> dict[str, Any]:
    """A set's canonical form; its programs are only checked for presence."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise CanonicalFormError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CanonicalFormError("a rule set must be an object")
    version = document.get("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise CanonicalFormError("the version is not supported", "/version")
    if not isinstance(document.get("programs"), list):
        raise CanonicalFormError("an array is needed", "/programs")
    return document


def _read_program(position: int, program: Any) -> tuple[str, CheckedExpression]:
    """The id of a program and the source it was compiled from."""
    pointer = f"/programs/{position}"
    if not isinstance(program, dict) or not isinstance(program.get("id"), str):
        raise CanonicalFormError("an object with an `id` is needed", pointer)
    try:
        return program["id"], canonical.from_json(program)
    except ExpressionError as error:
        raise CanonicalFormError(str(error), pointer) from error


@attrs.frozen
class _Encoded:
    record: Mapping[str, Any]


class ReferenceRules:
    """The same set, executed by the reference evaluator.

    Raises:
        CanonicalFormError: the data isn't a canonical rule set.
    """

    def __init__(self, data: bytes) -> None:
        self.document = Document(Compiled(data, lambda: self._ids))
        document = _read_document(data)
        programs = [_read_program(*each) for each in enumerate(document["programs"])]
        self._ids = [name for name, _ in programs]
        checked = [one for _, one in programs]
        self._roots: list[Checked] = [one.root for one in checked]
        self._read = frozenset[str]().union(*(one.references.fields for one in checked))
        try:
            schema, limits = schema_of(document), _limits_of(document["limits"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CanonicalFormError(f"no fields, lists and limits: {error!r}") from error
        self._variables, self._lists, self._limits = schema.fields, schema.lists, limits
        self._own_variables = {
            name for name, kind in schema.fields.items() if is_variable(name, kind)
        }

    def __len__(self) -> int:
        return len(self._ids)

    def with_changes(self, programs: Programs, removed: Collection[str]) -> Rules:
        """The set with other programs: see ``NativeRules``."""
        for name in removed:
            if name not in self._ids:
                raise KeyError(name)
        return ReferenceRules(self.document.with_changes(programs, removed).to_json())

    def prepare(
        self, context: Mapping[str, Any] | bytes, events: Strictness = "any"
    ) -> PreparedContext:
        admit(context, events, self._own_variables)
        return _Encoded(encode(context, self._read, variables=self._variables))

    def outcome(self, index: int, context: Context) -> Outcome:
        """The value or failure, and the cost, of one rule."""
        prepared = context if isinstance(context, _Encoded) else self.prepare(context)  # type: ignore[arg-type]
        assert isinstance(prepared, _Encoded)
        return reference.evaluate(
            self._roots[index], prepared.record, lists=self._lists, limits=self._limits
        )

    def evaluate(self, index: int, context: Context) -> Any:
        outcome = self.outcome(index, context)
        if outcome.failure is not None:
            failure = outcome.failure
            raise EvaluationError(failure.code, failure.message, failure.span)
        return to_python(outcome.value)

    def match(self, context: Context, errors: bool) -> Matches:
        prepared = context if isinstance(context, _Encoded) else self.prepare(context)  # type: ignore[arg-type]
        outcomes = [(name, self.outcome(index, prepared)) for index, name in enumerate(self._ids)]
        matched = [
            name for name, outcome in outcomes if outcome.failure is None and outcome.value is True
        ]
        failed = {
            name: outcome.failure.code for name, outcome in outcomes if outcome.failure is not None
        }
        return Matches(matched, failed if errors else {})

    def match_batch(self, contexts: Sequence[Context], errors: bool) -> list[Matches | EventError]:
        answers: list[Matches | EventError] = []
        for context in tuple(contexts):
            try:
                answers.append(self.match(context, errors))
            except EventError as error:
                answers.append(error)
        return answers

    def stats(self) -> dict[str, Any]:
        """As for the native evaluator. Without an index, every rule is evaluated."""
        return {
            "rules": len(self._ids),
            "conditions": 0,
            "shared": 0,
            "searched": 0,
            "indexed": 0,
            "always": dict.fromkeys(self._ids, "the reference evaluates every rule"),
        }
