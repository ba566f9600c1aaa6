"""The walk from syntax tree to checked tree: names, macros, types, constants.

Findings are collected, and the walk continues; a faulty part has type ``dyn``, so that one mistake
is reported once.  It recurses: the parser has limited the nesting.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tidegate.language.check import call_findings, folding
from tidegate.language.check.constants import ConstantChecks
from tidegate.language.check.declarations import of_schema
from tidegate.language.check.inference import Inference
from tidegate.language.check.macros import (
    BindShape,
    BlockIndexShape,
    BlockShape,
    ComprehensionShape,
    HasShape,
    OptionalMapShape,
    Shape,
    recognise,
)
from tidegate.language.check.resolve import (
    TYPE_NAMES,
    Chain,
    candidates,
    chain_of,
    declared_prefix,
    suggested_field,
    unknown_part,
)
from tidegate.language.parse.syntax_errors import FOREIGN_FIELDS
from tidegate.language.tree import ast, checked
from tidegate.language.tree.diagnostics import Diagnostic, quote
from tidegate.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    UINT,
    ListType,
    MapType,
    OptionalType,
    Type,
    TypeParam,
    TypeType,
)
from tidegate.values import TypeName, UInt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tidegate.language.check.folding import Found
    from tidegate.language.tree.schema import Schema
    from tidegate.limits import Limits


class TreeChecker:
    """One walk over one syntax tree; see ``run``."""

    def __init__(self, text: str, schema: Schema, strict: bool, limits: Limits) -> None:
        self.findings: list[Diagnostic] = []
        self._schema = schema
        self._strict = strict
        self._limits = limits
        self._inference = Inference()
        self._functions = of_schema(schema.functions)
        self._locals: dict[str, list[Type]] = {}
        self._comprehensions = 0
        self._slots: list[str] | None = None
        self._constants = ConstantChecks(text, schema, limits)

    def run(self, tree: ast.Node, expected: tuple[Type, ...]) -> Found:
        """The checked tree and its type, free of parameters; see ``findings``."""
        root, kind = self._check(tree)
        settled = self._inference.settle(kind)
        if self._strict and expected and not self.findings and settled not in expected:
            self._report_result(tree, settled, expected)
        self.findings.extend(self._constants.findings)
        return root, settled

    # Reporting

    def _report(self, code: str, message: str, span: ast.Span, hint: str | None = None) -> None:
        self.findings.append(Diagnostic(code, message, span, hint=hint))

    def _report_type(
        self, code: str, message: str, span: ast.Span, hint: str | None = None
    ) -> None:
        """A finding about types: left to the evaluation if types are not checked."""
        if self._strict:
            self._report(code, message, span, hint)

    def _report_result(self, tree: ast.Node, kind: Type, expected: Sequence[Type]) -> None:
        wanted = " or ".join(f"`{each}`" for each in expected)
        hint = "compare it with something: `... == true`" if kind is DYN else None
        if kind is STRING and BOOL in expected:
            hint = 'compare it with something: `... != ""`'
        self._report("wrong-result-type", f"the result is `{kind}`, not {wanted}", tree.span, hint)

    def _settled(self, kind: Type) -> str:
        return f"`{self._inference.settle(kind)}`"

    def _require(self, kind: Type, wanted: Type, span: ast.Span, what: str) -> None:
        """Report a part that must have a type and does not."""
        if kind is not wanted and not self._inference.agree([kind], [wanted]):
            message = f"{what} is {self._settled(kind)}, not `{wanted}`"
            self._report_type("wrong-type", message, span)

    # Dispatch

    def _check(self, node: ast.Node) -> Found:
        return _METHODS[type(node)](self, node)

    def _check_all(self, nodes: Iterable[ast.Node]) -> tuple[list[checked.Checked], list[Type]]:
        roots: list[checked.Checked] = []
        kinds: list[Type] = []
        for node in nodes:
            root, kind = self._check(node)
            roots.append(root)
            kinds.append(kind)
        return roots, kinds

    # Names

    def _identifier(self, node: ast.Identifier) -> Found:
        if not node.absolute and node.name in self._locals:
            return checked.Local(node.name, span=node.span), self._locals[node.name][-1]
        return self._chain(Chain(node, ()))

    def _select(self, node: ast.Select) -> Found:
        chain = chain_of(node)
        if chain is None or self._is_local(chain):
            operand, kind = self._check(node.operand)
            return self._selected(operand, kind, node)
        return self._chain(chain)

    def _is_local(self, chain: Chain) -> bool:
        return not chain.root.absolute and chain.root.name in self._locals

    def _chain(self, chain: Chain) -> Found:
        declared = declared_prefix(chain, self._schema)
        if declared is None:
            return self._undeclared(chain)
        name, length = declared
        span = chain.selects[length - 2].span if length > 1 else chain.root.span
        kind = self._schema.fields.get(name)
        root: checked.Checked
        if kind is not None:
            root = checked.Field(name, span=span)
        else:
            root, kind = checked.Literal(TypeName(name), span=span), TypeType(TYPE_NAMES[name])
        for select in chain.selects[length - 1 :]:
            root, kind = self._selected(root, kind, select)
        return root, kind

    def _undeclared(self, chain: Chain) -> Found:
        span = chain.selects[-1].span if chain.selects else chain.root.span
        if self._strict:
            name, length = unknown_part(chain, self._schema)
            span = chain.selects[length - 2].span if length > 1 else chain.root.span
            suggestion = suggested_field(chain, self._schema)
            hint = f"did you mean `{suggestion}`?" if suggestion else None
            if chain.root.name == "lists":
                hint = 'a named list is asked by its name: `value.inList("name")`'
            elif chain.name() in FOREIGN_FIELDS:
                hint = f"it is `{FOREIGN_FIELDS[chain.name()]}` here"
            if name in self._schema.namespaces:
                self._report(
                    "unknown-field",
                    f"`{name}` is no field but a group of fields",
                    span,
                    f"name one of them, such as `{suggestion}`" if suggestion else None,
                )
            else:
                self._report("unknown-field", f"unknown field {quote(name)}", span, hint)
        return checked.Field(chain.name(), span=span), DYN

    def _selected(self, operand: checked.Checked, kind: Type, node: ast.Select) -> Found:
        """``operand.field``: an entry of a map, looking inside an optional."""
        kind = self._inference.resolve(kind)
        field = folding.folded_header(operand, node.field)
        root = checked.Select(operand, field, node.optional, span=node.span)
        inner, wrapped = kind, node.optional
        if isinstance(kind, OptionalType):
            inner, wrapped = self._inference.resolve(kind.value), True
        if isinstance(inner, MapType):
            result = inner.value
        else:
            result = DYN
            if inner is not DYN and not isinstance(inner, TypeParam):
                self._report_no_fields(inner, node)
        return root, OptionalType(result) if wrapped else result

    def _report_no_fields(self, kind: Type, node: ast.Select) -> None:
        message = f"{self._settled(kind)} has no field {quote(node.field)}"
        hint = None
        if (node.field, True) in self._functions:
            hint = f"`{node.field}` is a function: write `{node.field}(...)`"
        self._report_type("no-such-field", message, node.field_span, hint)

    # Access

    def _index(self, node: ast.IndexAccess) -> Found:
        operand, kind = self._check(node.operand)
        index, index_kind = self._check(node.index)
        index = folding.folded_key(operand, index)
        root = checked.Index(operand, index, node.optional, span=node.span)
        kind = self._inference.resolve(kind)
        inner, wrapped = kind, node.optional
        if isinstance(kind, OptionalType):
            inner, wrapped = self._inference.resolve(kind.value), True
        result = self._indexed(inner, index_kind, node)
        return root, OptionalType(result) if wrapped else result

    def _indexed(self, kind: Type, index: Type, node: ast.IndexAccess) -> Type:
        if isinstance(kind, ListType):
            self._require(index, INT, node.index.span, "the index of a list")
            return kind.element
        if isinstance(kind, MapType):
            if not self._inference.agree([index], [kind.key]):
                message = (
                    f"the key of the map is {self._settled(kind.key)}, not {self._settled(index)}"
                )
                self._report_type("wrong-type", message, node.index.span)
            return kind.value
        if kind is not DYN and not isinstance(kind, TypeParam):
            message = f"{self._settled(kind)} cannot be indexed"
            self._report_type("wrong-type", message, node.operand.span)
        return DYN

    # Calls

    def _call(self, node: ast.Call) -> Found:
        shape = recognise(node)
        if shape is not None:
            return self._macro(shape, node)
        if node.target is not None:
            qualified = self._qualified_function(node)
            if qualified is None:
                return self._member_call(node)
            return self._function_call(qualified, node)
        for name in candidates(node.function, self._schema.container, node.absolute):
            if (name, False) in self._functions:
                return self._function_call(name, node)
        return self._unknown_function(node)

    def _qualified_function(self, node: ast.Call) -> str | None:
        """The full name of a function written with its namespace: ``math.abs(x)``."""
        chain = chain_of(node.target) if node.target is not None else None
        if chain is None or self._is_local(chain):
            return None
        name = f"{chain.name()}.{node.function}"
        for full in candidates(name, self._schema.container, chain.root.absolute):
            if (full, False) in self._functions:
                return full
        return None

    def _member_call(self, node: ast.Call) -> Found:
        assert node.target is not None
        if (node.function, True) not in self._functions:
            return self._unknown_function(node)
        return self._applied(node.function, True, (node.target, *node.arguments), node)

    def _function_call(self, name: str, node: ast.Call) -> Found:
        return self._applied(name, False, node.arguments, node)

    def _applied(
        self, name: str, member: bool, arguments: Sequence[ast.Node], node: ast.Call
    ) -> Found:
        roots, kinds = self._check_all(arguments)
        return self._apply(name, member, roots, kinds, node.span, node.function_span)

    def _apply(
        self,
        name: str,
        member: bool,
        roots: Sequence[checked.Checked],
        kinds: Sequence[Type],
        span: ast.Span,
        name_span: ast.Span,
    ) -> Found:
        """A call to a known function or operator: its overload and its constants."""
        call = checked.Call(name, member, tuple(roots), span=span)
        result = self._functions[name, member].result(tuple(kinds), self._inference)
        if result is None:
            result = DYN
            if self._strict:
                given = [self._inference.settle(kind) for kind in kinds]
                declaration = self._functions[name, member]
                self.findings.append(
                    call_findings.no_overload(declaration, given, name_span, roots)
                )
        elif self._strict:
            call = self._constants.check(call, [self._inference.resolve(each) for each in kinds])
        else:
            call = self._constants.translate(call)
        return call, result

    def _unknown_function(self, node: ast.Call) -> Found:
        chain = chain_of(node.target) if node.target is not None else None
        name = node.function if chain is None else f"{chain.name()}.{node.function}"
        parts = node.arguments if node.target is None else (node.target, *node.arguments)
        if self._strict:
            self.findings.append(call_findings.unknown_function(node, name, self._functions))
            if call_findings.misused_macro(node, name):
                parts = ()  # a non-variable where a variable belongs isn't a field
            elif chain is not None and self._is_unknown_namespace(chain):
                parts = node.arguments  # the function reports it
        roots, _ = self._check_all(parts)
        member = node.target is not None
        return checked.Call(node.function, member, tuple(roots), span=node.span), DYN

    def _is_unknown_namespace(self, chain: Chain) -> bool:
        return (
            chain.root.name not in self._locals
            and chain.root.name not in self._schema.namespaces
            and declared_prefix(chain, self._schema) is None
        )

    # Macros

    def _macro(self, shape: Shape, node: ast.Call) -> Found:
        match shape:
            case HasShape(select):
                return self._has(select, node.span)
            case BindShape():
                return self._bind(shape, node.span)
            case BlockShape():
                return self._block(shape, node)
            case BlockIndexShape(number):
                return self._block_index(number, node)
            case OptionalMapShape():
                return self._optional_map(shape, node.span)
            case ComprehensionShape():
                return self._comprehension(shape, node)

    def _has(self, select: ast.Select, span: ast.Span) -> Found:
        chain = chain_of(select)
        if chain is not None and not self._is_local(chain):
            declared = declared_prefix(chain, self._schema)
            if declared is None:
                self._undeclared(chain)
                return checked.HasField(chain.name(), span=span), BOOL
            name, length = declared
            if length == len(chain.selects) + 1 and name in self._schema.fields:
                return checked.HasField(name, span=span), BOOL
        operand, kind = self._check(select.operand)
        self._selected(operand, kind, select)
        return checked.Has(operand, folding.folded_header(operand, select.field), span=span), BOOL

    def _bind(self, shape: BindShape, span: ast.Span) -> Found:
        value, kind = self._check(shape.value)
        with self._bound((shape.variable, kind)):
            body, result = self._check(shape.body)
        return checked.Bind(shape.variable.name, value, body, span=span), result

    def _block(self, shape: BlockShape, node: ast.Call) -> Found:
        if self._slots is not None:
            return self._unknown_function(node)
        self._slots = []
        values: list[checked.Checked] = []
        with ExitStack() as stack:
            for at, each in enumerate(shape.values):
                value, kind = self._check(each)
                name = f"@index{at}"
                stack.enter_context(self._bound((ast.Identifier(name, span=each.span), kind)))
                self._slots.append(name)
                values.append(value)
            root, result = self._check(shape.body)
        for name, value in zip(reversed(self._slots), reversed(values), strict=True):
            root = checked.Slot(name, value, root, span=node.span)
        self._slots = None
        return root, result

    def _block_index(self, number: int, node: ast.Call) -> Found:
        if self._slots is None or number >= len(self._slots):
            return self._unknown_function(node)
        name = self._slots[number]
        return checked.Local(name, span=node.span), self._locals[name][-1]

    def _optional_map(self, shape: OptionalMapShape, span: ast.Span) -> Found:
        operand, kind = self._check(shape.operand)
        inner = self._inference.fresh()
        self._require_optional(kind, inner, shape.operand.span)
        with self._bound((shape.variable, self._inference.resolve(inner))):
            body, result = self._check(shape.body)
        if shape.flat:
            element = self._inference.fresh()
            self._require_optional(result, element, shape.body.span)
        root = checked.OptionalMap(operand, shape.variable.name, body, shape.flat, span=span)
        return root, result if shape.flat else OptionalType(result)

    def _require_optional(self, kind: Type, inner: Type, span: ast.Span) -> None:
        if not self._inference.agree([kind], [OptionalType(inner)]):
            message = f"{self._settled(kind)} is no optional"
            self._report_type("wrong-type", message, span, "make one with `optional.of(...)`")

    def _comprehension(self, shape: ComprehensionShape, node: ast.Call) -> Found:
        over, kind = self._check(shape.range)
        kinds = self._iterated(kind, len(shape.variables), shape.range.span)
        names = tuple(variable.name for variable in shape.variables)
        if len(set(names)) != len(names):
            message = f"the variables are both called `{names[0]}`"
            self._report("duplicate-variable", message, shape.variables[1].span)
        self._comprehensions += 1
        if self._comprehensions == self._limits.macro_nesting + 1:
            message = f"macros nested more than {self._limits.macro_nesting} levels deep"
            self._report("macros-too-deep", message, node.span)
        with self._bound(*zip(shape.variables, kinds, strict=True)):
            condition = self._condition(shape.condition)
            body, result = self._check(shape.body)
        self._comprehensions -= 1
        if shape.macro in _PREDICATES:
            self._require(result, BOOL, shape.body.span, f"the condition of `{node.function}`")
        if shape.macro == "sortBy" and self._strict:
            settled = [self._inference.settle(each) for each in (kind, result)]
            self.findings.extend(call_findings.unsortable(shape, *settled))
        root = checked.Comprehension(shape.macro, names, over, condition, body, span=node.span)
        return root, self._comprehended(shape, kinds, result)

    def _condition(self, condition: ast.Node | None) -> checked.Checked | None:
        if condition is None:
            return None
        root, kind = self._check(condition)
        self._require(kind, BOOL, condition.span, "the condition")
        return root

    def _iterated(self, kind: Type, count: int, span: ast.Span) -> tuple[Type, ...]:
        """The types of the variables of a comprehension over a list or map."""
        kind = self._inference.resolve(kind)
        match kind:
            case ListType(element):
                return (element,) if count == 1 else (INT, element)
            case MapType(key, value):
                return (key,) if count == 1 else (key, value)
        if kind is not DYN and not isinstance(kind, TypeParam):
            message = f"{self._settled(kind)} is no list or map"
            self._report_type("wrong-type", message, span, "macros run over lists and maps")
        return (DYN,) * count

    def _comprehended(self, shape: ComprehensionShape, kinds: Sequence[Type], body: Type) -> Type:
        match shape.macro:
            case "map" | "transformList":
                return ListType(body)
            case "filter" | "sortBy":
                return ListType(kinds[0])
            case "transformMap":
                return MapType(kinds[0], body)
            case "transformMapEntry":
                entry = self._inference.resolve(body)
                if isinstance(entry, MapType):
                    return entry
                message = f"{self._settled(body)} is no map"
                if entry is not DYN and not isinstance(entry, TypeParam):
                    self._report_type(
                        "wrong-type", message, shape.body.span, "write `{key: value}`"
                    )
                return MapType(DYN, DYN)
            case _:
                return BOOL

    @contextmanager
    def _bound(self, *variables: tuple[ast.Identifier, Type]) -> Iterator[None]:
        """The variables of a macro, visible while its parts are checked."""
        for variable, kind in variables:
            self._locals.setdefault(variable.name, []).append(kind)
        yield
        for variable, _ in variables:
            self._locals[variable.name].pop()
            if not self._locals[variable.name]:
                del self._locals[variable.name]

    # Operators

    def _not(self, node: ast.Not) -> Found:
        root, kind = self._check(node.operand)
        span = ast.Span(node.span.start, node.span.start + 1)
        return self._apply("!", False, (root,), (kind,), node.span, span)

    def _negate(self, node: ast.Negate) -> Found:
        root, kind = self._check(node.operand)
        if isinstance(root, checked.Literal) and type(root.value) in (int, float):
            return self._constants.negated(root, node.span), kind
        span = ast.Span(node.span.start, node.span.start + 1)
        return self._apply("-", False, (root,), (kind,), node.span, span)

    def _binary(self, node: ast.Binary) -> Found:
        left, left_kind = self._check(node.left)
        right, right_kind = self._check(node.right)
        if node.operator == "in":
            left = folding.folded_key(right, left)
        kinds = (left_kind, right_kind)
        return self._apply(
            node.operator, False, (left, right), kinds, node.span, node.operator_span
        )

    def _and(self, node: ast.And) -> Found:
        return checked.And(self._operands(node.operands, "&&", False), span=node.span), BOOL

    def _or(self, node: ast.Or) -> Found:
        return checked.Or(self._operands(node.operands, "||", True), span=node.span), BOOL

    def _operands(
        self, nodes: Sequence[ast.Node], sign: str, deciding: bool
    ) -> tuple[checked.Checked, ...]:
        """The operands of a chain; a deciding constant absorbs every error."""
        mark = self._constants.mark()
        roots = []
        for node in nodes:
            root, kind = self._check(node)
            if kind is not BOOL:
                self._require(kind, BOOL, node.span, f"an operand of `{sign}`")
            roots.append(root)
        if any(type(root) is checked.Literal and root.value is deciding for root in roots):
            self._constants.forget(mark)
        return tuple(roots)

    def _conditional(self, node: ast.Conditional) -> Found:
        condition, condition_kind = self._check(node.condition)
        self._require(condition_kind, BOOL, node.condition.span, "the condition")
        branches = []
        for node_part, chosen in ((node.then, True), (node.otherwise, False)):
            mark = self._constants.mark()
            branches.append(self._check(node_part))
            if isinstance(condition, checked.Literal) and condition.value is not chosen:
                self._constants.forget(mark)
        (then, then_kind), (otherwise, other_kind) = branches
        result = self._inference.fresh()
        if not self._inference.agree([then_kind, other_kind], [result, result]):
            message = f"the branches are {self._settled(then_kind)} and {self._settled(other_kind)}"
            self._report_type("wrong-type", message, node.otherwise.span,
                              "both must have one type")  # fmt: skip
            root = checked.Conditional(condition, then, otherwise, span=node.span)
            return root, DYN
        root = checked.Conditional(condition, then, otherwise, span=node.span)
        return root, self._inference.resolve(result)

    # Literals

    def _list(self, node: ast.ListLiteral) -> Found:
        roots, kinds = self._check_all(element.value for element in node.elements)
        kinds = [
            self._unwrapped(kind, element.value.span) if element.optional else kind
            for kind, element in zip(kinds, node.elements, strict=True)
        ]
        kind = ListType(self._inference.join(kinds))
        values = folding.constants_of(roots)
        if values is not None and not any(element.optional for element in node.elements):
            literal = checked.Literal(values, span=node.span)
            self._constants.remember(literal, roots)
            return literal, kind
        elements = tuple(
            checked.ListElement(root, element.optional)
            for root, element in zip(roots, node.elements, strict=True)
        )
        return checked.List(elements, span=node.span), kind

    def _map(self, node: ast.MapLiteral) -> Found:
        keys, key_kinds = self._check_all(entry.key for entry in node.entries)
        values, value_kinds = self._check_all(entry.value for entry in node.entries)
        value_kinds = [
            self._unwrapped(kind, entry.value.span) if entry.optional else kind
            for kind, entry in zip(value_kinds, node.entries, strict=True)
        ]
        for key_kind, entry in zip(key_kinds, node.entries, strict=True):
            self._require_key(key_kind, entry.key.span)
        kind = MapType(self._inference.join(key_kinds), self._inference.join(value_kinds))
        if self._strict:
            self._constants.check_keys(keys)
        folded = folding.folded_map(node, keys, values)
        if folded is not None:
            return checked.Literal(folded, span=node.span), kind
        entries = tuple(
            checked.MapEntry(key, value, entry.optional)
            for key, value, entry in zip(keys, values, node.entries, strict=True)
        )
        return checked.Map(entries, span=node.span), kind

    def _require_key(self, kind: Type, span: ast.Span) -> None:
        kind = self._inference.resolve(kind)
        if kind not in _KEY_TYPES and kind is not DYN and not isinstance(kind, TypeParam):
            message = f"{self._settled(kind)} cannot be the key of a map"
            self._report_type("wrong-type", message, span, "keys are bool, int, uint or string")

    def _unwrapped(self, kind: Type, span: ast.Span) -> Type:
        inner = self._inference.fresh()
        self._require_optional(kind, inner, span)
        return self._inference.resolve(inner)

    def _message(self, node: ast.MessageLiteral) -> Found:
        self._report("message-literal", f"message literals such as {quote(node.name + '{...}')} "
                     "are not part of the language", node.span,
                     "write a map: `{\"key\": value}`")  # fmt: skip
        self._check_all(field.value for field in node.fields)
        return checked.Literal(None, span=node.span), DYN


_KEY_TYPES = frozenset((BOOL, INT, UINT, STRING))
_PREDICATES = frozenset(("all", "exists", "exists_one", "filter"))


_METHODS: dict[type, Callable[[TreeChecker, Any], Found]] = {
    ast.NullLiteral: lambda _checker, node: (checked.Literal(None, span=node.span), NULL),
    ast.BoolLiteral: folding.literal(BOOL),
    ast.IntLiteral: folding.literal(INT),
    ast.UintLiteral: folding.literal(UINT, UInt),
    ast.DoubleLiteral: folding.literal(DOUBLE),
    ast.StringLiteral: folding.literal(STRING),
    ast.BytesLiteral: folding.literal(BYTES),
    ast.Identifier: TreeChecker._identifier,
    ast.Select: TreeChecker._select,
    ast.IndexAccess: TreeChecker._index,
    ast.Call: TreeChecker._call,
    ast.ListLiteral: TreeChecker._list,
    ast.MapLiteral: TreeChecker._map,
    ast.MessageLiteral: TreeChecker._message,
    ast.Not: TreeChecker._not,
    ast.Negate: TreeChecker._negate,
    ast.Binary: TreeChecker._binary,
    ast.And: TreeChecker._and,
    ast.Or: TreeChecker._or,
    ast.Conditional: TreeChecker._conditional,
}
