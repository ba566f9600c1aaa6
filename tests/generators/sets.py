"""Indexed rule sets against the reference: the same rules hold.

    python -m tests.generators.sets --sets 50000 --seed 1

An index may pass a rule over only when the rule cannot be true. Sets are generated with
parts that rules share, negate, nest and get wrong, over few words, so that
tests are often true; the reference evaluates every rule on every event. Some sets are
made whole, some of another one by changes.

Parsing and checking a text takes longer than everything else. So each part is checked once and
reused in other sets, and rules are assembled from checked parts.
"""

from __future__ import annotations

import random
import sys
import time
from typing import TYPE_CHECKING, Any

import attrs
import click
import orjson

from tidegate.errors import ExpressionError
from tidegate.evaluation import reference
from tidegate.evaluation.encoder import encode
from tidegate.evaluation.rules import Rules, bundle, read_rules
from tidegate.language.check.checker import check
from tidegate.language.tree import checked
from tidegate.language.tree.form import VERSION, node_to_json
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT, Limits
from tidegate.testing.choices import Choices, RandomChoices, happens, pick
from tidegate.testing.events import to_json
from tidegate.testing.expressions import ExpressionGenerator
from tidegate.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tidegate.evaluation.document import Program

WORDS = ("a", "ab", "bot", "Bot", "/api", "curl/8", "login", "10.1", ".php", "é", "K", "xyz" * 6)
KEYS = ("host", "accept", "id", "x-a")
SECTIONS = ("request.headers", "request.query_params", "request.cookies", "fields")
TEXTS = (
    "request.path",
    "request.raw_path",
    "request.user_agent",
    "request.method",
    "request.client_ip",
    "derived.path_extension",
    "name",
)
ADDRESSES = ("10.1.2.3", "10.1.9.9", "192.0.2.1", "2001:db8::1", "no address")
NETWORKS = ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "0.0.0.0/0", "2001:db8::/32", "bad")
PATTERNS = ("(?i)bot", "^/api/[a-z]+", r"\\blogin\\b", "a|b", "cu(rl|te)/[0-9]", "", "[^a-z]k")
SCHEMA = (
    Schema.default()
    .with_variables({"name": "string", "count": "int", "ratio": "double", "tags": "list(string)"})
    .with_variables({"address": "net.IP", "anything": "dyn", "yes": "bool"})
    .with_lists({"words": list(WORDS[:4]), "places": ["10.0.0.0/8", "192.0.2.1"]})
    .with_actions(["seen"])
)
MAX_RULES = 12
EVENTS = 4

KNOWN_PARTS = 2000
"""Checked parts that are kept; then most parts of a set are taken from them."""


@attrs.frozen(eq=False)
class Part:
    """A checked expression: its text, its tree, that as JSON, and the fields it reads."""

    text: str
    root: checked.Checked
    json: orjson.Fragment
    fields: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Part | None:
        """The part of a text; None if it does not check."""
        try:
            found = check(text, SCHEMA, expect=BOOL)
        except ExpressionError:
            return None
        json = orjson.Fragment(orjson.dumps(node_to_json(found.root)))
        return cls(text, found.root, json, found.references.fields)

    @classmethod
    def joined(cls, kind: str, root: checked.Checked, text: str, parts: Sequence[Part]) -> Part:
        """The part that a node forms from other parts."""
        args = [part.json for part in parts]
        node: dict[str, Any] = {"kind": kind, "span": [0, 0], "args": args}
        if isinstance(root, checked.Call):
            node["function"] = root.function
        fields = frozenset[str]().union(*(part.fields for part in parts))
        return cls(text, root, orjson.Fragment(orjson.dumps(node)), fields)

    def program(self, name: str) -> Program:
        """The canonical form."""
        return {"id": name, "version": VERSION, "text": "", "type": "bool", "root": self.json}


def _and(parts: Sequence[Part]) -> Part:
    root = checked.And(tuple(part.root for part in parts))
    return Part.joined("and", root, f"({' && '.join(part.text for part in parts)})", parts)


def _or(parts: Sequence[Part]) -> Part:
    root = checked.Or(tuple(part.root for part in parts))
    return Part.joined("or", root, f"({' || '.join(part.text for part in parts)})", parts)


def _not(part: Part) -> Part:
    root = checked.Call("!", False, (part.root,))
    return Part.joined("call", root, f"!({part.text})", [part])


def _conditional(parts: Sequence[Part]) -> Part:
    condition, then, otherwise = parts
    root = checked.Conditional(condition.root, then.root, otherwise.root)
    text = f"({condition.text} ? {then.text} : {otherwise.text})"
    return Part.joined("conditional", root, text, parts)


class SetGenerator:
    """Rules and events over few words."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self._known: list[Part] = []
        self._parts: list[Part] = []

    def rules(self) -> dict[str, Part]:
        """Rules by id that share parts."""
        self._parts = [self._some_part() for _ in range(2 + self.choices.below(8))]
        return {str(number): self._rule(3) for number in range(1 + self.choices.below(MAX_RULES))}

    def _rule(self, depth: int) -> Part:
        choices = self.choices
        if depth == 0 or happens(choices, 30):
            return pick(choices, self._parts)
        inner = [self._rule(depth - 1) for _ in range(2 + choices.below(2))]
        match choices.below(8):
            case 0 | 1 | 2:
                return _and(inner)
            case 3 | 4:
                return _or(inner)
            case 5 | 6:
                return _not(inner[0])
            case _:
                return _conditional((inner[0], inner[1], inner[-1]))

    def _some_part(self) -> Part:
        if len(self._known) >= KNOWN_PARTS and happens(self.choices, 95):
            return pick(self.choices, self._known)
        while (part := Part.of(self._part())) is None:
            pass
        if len(self._known) < KNOWN_PARTS:
            self._known.append(part)
        else:
            self._known[self.choices.below(KNOWN_PARTS)] = part
        return part

    def _part(self) -> str:
        if happens(self.choices, 15):
            return ExpressionGenerator(self.choices, SCHEMA).expression(BOOL, 3)
        kinds = (self._text_test, self._loop, self._number_test, self._network_test, self._other)
        return pick(self.choices, kinds)()

    def _word(self) -> str:
        return "".join(pick(self.choices, WORDS) for _ in range(1 + self.choices.below(2)))

    def _constant(self) -> str:
        return '""' if happens(self.choices, 6) else f'"{self._word()}"'

    def _constants(self) -> str:
        return "[" + ", ".join(self._constant() for _ in range(1 + self.choices.below(4))) + "]"

    def _key(self) -> str:
        return f'{pick(self.choices, SECTIONS)}["{pick(self.choices, KEYS)}"]'

    def _text(self) -> str:
        text = pick(self.choices, TEXTS) if happens(self.choices, 60) else self._key()
        case = self.choices.below(8)
        return f"{text}{ {6: '.lowerAscii()', 7: '.upperAscii()'}.get(case, '') }"

    def _test_of(self, text: str) -> str:
        choices = self.choices
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"{text} == {self._constant()}",
            lambda: f"{self._constant()} == {text}",
            lambda: f"{text} != {self._constant()}",
            lambda: f"{text} in {self._constants()}",
            lambda: (
                f"{text}.{pick(choices, ('contains', 'startsWith', 'endsWith'))}"
                f"({self._constant()})"
            ),
            lambda: (
                f"{text}.{pick(choices, ('containsAny', 'startsWithAny', 'endsWithAny'))}"
                f"({self._constants()})"
            ),
            lambda: f'{text}.{pick(choices, ("like", "ilike"))}("{self._word()}*{self._word()}*")',
            lambda: f'{text}.matches("{pick(choices, PATTERNS)}")',
            lambda: (
                f'{text}.matchesAny(["{pick(choices, PATTERNS)}", "{pick(choices, PATTERNS)}"])'
            ),
            lambda: f'{text}.inList("{pick(choices, ("words", "places"))}")',
            lambda: f"size({text}) > {choices.below(12)}",
        )
        return pick(choices, forms)()

    def _text_test(self) -> str:
        return self._test_of(self._text())

    def _loop(self) -> str:
        section, macro = pick(self.choices, SECTIONS), pick(self.choices, ("exists", "all"))
        fold = pick(self.choices, ("", ".lowerAscii()"))
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"{section}.{macro}(k, {self._test_of(f'{section}[k]{fold}')})",
            lambda: f"{section}.{macro}(k, v, {self._test_of('v')} && {self._test_of('k')})",
            lambda: f"{section}.exists_one(k, {self._test_of('k')})",
            lambda: f"derived.path_segments.{macro}(s, {self._test_of('s' + fold)})",
            lambda: f"tags.{macro}(i, s, i > 0 || {self._test_of('s')})",
            lambda: f"{self._constants()}.{macro}(w, {self._text()}.contains(w))",
            lambda: f"cel.bind(x, {self._text()}, {self._test_of('x')} || {self._test_of('x')})",
            lambda: f"tags.{macro}(s, {section}.exists(k, {section}[k].contains(s)))",
        )
        return pick(self.choices, forms)()

    def _number_test(self) -> str:
        choices = self.choices
        operator = pick(choices, ("<", "<=", ">", ">=", "==", "!="))
        whole, part = choices.below(7) - 2, pick(choices, ("-1.5", "0.0", "-0.0", "2.5", "4.0"))
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"count {operator} {whole}",
            lambda: f"{whole} {operator} count",
            lambda: f"ratio {operator} {part}",
            lambda: f"double({self._key()}) {operator} {part}",
            lambda: f"int({self._key()}) {operator} {whole}",
            lambda: f"size({pick(choices, SECTIONS)}) {operator} {whole}",
            lambda: f"count in [{whole}, 3]",
            lambda: f"ratio in [{part}, 2.5]",
            lambda: f"dyn(count) {operator} {part}",
            lambda: f"anything {operator} {whole}",
        )
        return pick(choices, forms)()

    def _network_test(self) -> str:
        choices = self.choices
        text = "request.client_ip" if happens(choices, 50) else self._key()
        first, second = pick(choices, NETWORKS), pick(choices, NETWORKS)
        forms = (
            f'cidr("{first}").containsIP({text})',
            f'cidr("{first}").containsIP(ip({text}))',
            f'cidr("{first}").containsIP(address)',
            f'["{first}", "{second}"].exists(c, cidr(c).containsIP({text}))',
            f'inIpRange({text}, ["{first}", "{second}"])',
            f'inIpRange({text}, "{first}")',
        )
        return pick(choices, forms)

    def _other(self) -> str:
        choices = self.choices
        key, section = pick(choices, KEYS), pick(choices, SECTIONS)
        forms = (
            f'"{key}" in {section}',
            f"has({section}.id)",
            f"{section}.?id.hasValue()",
            f'{section}[?"{key}"].orValue("ab") == "{self._word()}"',
            f'"{self._word()}" in derived.path_segments',
            f'"{self._word()}" in tags',
            "yes",
            "derived.is_bot",
            "actions.seen",
            "true",
            "false",
            "1 / count == 1",
            f"anything == {self._constant()}",
            f"anything.contains({self._constant()})",
        )
        return pick(choices, forms)

    def event(self) -> dict[str, Any]:
        """An event in which words of the rules often stand."""
        choices = self.choices
        number = ("1", "-1.5", "2.5", "4", "NaN", "x", "")
        request: dict[str, Any] = {
            "path": "/" + "/".join(self._word() for _ in range(choices.below(3))),
            "user_agent": self._word(),
            "method": pick(choices, ("GET", "POST", "ab")),
            "client_ip": pick(choices, ADDRESSES),
            "headers": self._section(number),
            "query_params": self._section(number),
            "cookies": self._section(number),
        }
        variables: dict[str, Any] = {
            "name": self._word(),
            "count": choices.below(7) - 2,
            "ratio": pick(choices, (-1.5, 0.0, 2.5, 4.0, 9.0)),
            "tags": [self._word() for _ in range(choices.below(3))],
            "address": pick(choices, ADDRESSES[:4]),
            "anything": pick(choices, (1, 2.5, "ab", "bot", True, [1])),
            "yes": happens(choices, 50),
        }
        kept = {name: value for name, value in variables.items() if happens(choices, 75)}
        request = {name: value for name, value in request.items() if happens(choices, 85)}
        return {"request": request, "fields": self._section(number), **kept}

    def _section(self, numbers: Sequence[str]) -> dict[str, str]:
        return {
            key: pick(self.choices, numbers) if happens(self.choices, 30) else self._word()
            for key in KEYS
            if happens(self.choices, 40)
        }


@attrs.frozen
class Difference:
    """A set and an event on which the index is wrong."""

    rules: Mapping[str, Part]
    event: Mapping[str, Any]
    reference: list[str]
    indexed: list[str]

    def __str__(self) -> str:
        wrong = sorted({*self.reference} ^ {*self.indexed})
        texts = "\n".join(f"  {name}: {self.rules[name].text}" for name in wrong)
        return f"{texts}\nevent: {self.event}\nheld: {self.reference}, indexed: {self.indexed}"


class Run:
    """A run over generated sets, with its counts so far."""

    def __init__(self, seed: int) -> None:
        self._choices = RandomChoices(random.Random(seed))
        self._generator = SetGenerator(self._choices)
        self.sets = 0
        self.answers = 0
        self.held = 0

    def one(self) -> Iterator[Difference]:
        """Generate and compare one set on some events."""
        rules = self._generator.rules()
        events = [self._generator.event() for _ in range(EVENTS)]
        sample = [data for event in events if (data := to_json(event))]
        limits = self._limits()
        native = self._native(rules, limits, sample if happens(self._choices, 50) else ())
        read = frozenset[str]().union(*(rule.fields for rule in rules.values()))
        expected = [
            _held(rules, encode(event, read, variables=SCHEMA.fields), limits) for event in events
        ]
        # A second time, when the index remembers values of the first.
        for event, held in zip(events * 2, expected * 2, strict=True):
            found, _ = native.match(event, errors=False)
            self.answers += len(rules)
            self.held += len(held)
            if held != found:
                yield Difference(rules, event, held, found)
        self.sets += 1

    def _native(self, rules: Mapping[str, Part], limits: Limits, sample: Sequence[bytes]) -> Rules:
        """The set, compiled whole or made of another one by changes."""
        programs = {name: rule.program(name) for name, rule in rules.items()}
        if happens(self._choices, 70):
            return _compiled(programs.values(), limits, sample)
        # Any of the last rules may be new: the order of the rules stays.
        kept = self._choices.below(len(programs) + 1)
        before = list(programs.values())[:kept]
        wrong = [name for name in list(programs)[:kept] if happens(self._choices, 30)]
        for position, program in enumerate(before):
            if program["id"] in wrong:
                other = pick(self._choices, list(rules.values()))
                before[position] = other.program(program["id"])
        gone = pick(self._choices, list(rules.values())).program("gone")
        before.insert(self._choices.below(kept + 1), gone)
        texts = {name: orjson.dumps(program) for name, program in programs.items()}
        changed = {name: text for name, text in texts.items() if name in wrong}
        added = dict(list(texts.items())[kept:])
        set_ = _compiled(before, limits, sample).with_changes(changed, ["gone"])
        return set_.with_changes(added, [])

    def _limits(self) -> Limits:
        """The usual limits or, now and then, so small a cost that rules reach it."""
        if happens(self._choices, 20):
            return attrs.evolve(DEFAULT, cost=1 + self._choices.below(40))
        return DEFAULT


def _compiled(programs: Iterable[Program], limits: Limits, sample: Sequence[bytes]) -> Rules:
    head = orjson.loads(bundle({}, SCHEMA, limits))
    return read_rules(orjson.dumps(head | {"programs": list(programs)}), "native", sample)


def _held(rules: Mapping[str, Part], record: Mapping[str, Any], limits: Limits) -> list[str]:
    """The rules that hold, by the reference."""
    outcomes = (
        (name, reference.evaluate(rule.root, record, lists=SCHEMA.lists, limits=limits))
        for name, rule in rules.items()
    )
    return [name for name, outcome in outcomes if outcome.failure is None and outcome.value is True]


@click.command()
@click.option("--sets", default=50_000, show_default=True, help="How many to generate.")
@click.option("--seed", default=0, show_default=True, help="The same seed makes the same run.")
@click.option("--show", default=10, show_default=True, help="How many differences to print.")
def main(sets: int, seed: int, show: int) -> None:
    """Compare indexed sets with the reference; exit 1 when they differ."""
    run, differing, started = Run(seed), 0, time.monotonic()
    while run.sets < sets:
        for difference in run.one():
            differing += 1
            if differing <= show:
                click.echo(f"--- difference {differing}\n{difference}")
    click.echo(
        f"{run.sets} sets, {run.answers} answers of which {run.held} held, in "
        f"{time.monotonic() - started:.0f} s, seed {seed}: {differing} differ"
    )
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
