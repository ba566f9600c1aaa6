"""``python -m benchmarks.worst_decision``: the dearest decision that is accepted.

Sets of every kind that is known to be dear are made, each with a legal event that makes it so;
the dearest are then changed at random, and what is dearer is kept (hill climbing).  For each kind
the processor time of the native engine is printed, the least of some decisions, with the work it
counted.  A decision is read, made, redacted and written as the service does it.
``tests/policy/test_budget.py`` has the seeds of the dearest and asserts on the work.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID, uuid5

import attrs
import click
import orjson
from tests.generators.hostile import CROWDED, crowd, quoted

from tidegate.errors import ExpressionError
from tidegate.evaluation.native import NativeEngine, Redactor
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.compile import compile_all
from tidegate.policy.definitions.model import (
    Block,
    Clause,
    Definitions,
    EntityDefinition,
    Mitigation,
    Policy,
    Tenant,
    Window,
)
from tidegate.regex import RegexError, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TENANT = UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff")
NOW = 1_800_000_000_000_000_000
LONGEST = 16_000
SUBJECTS = ("request.path", "request.user_agent", "request.body.a")
KEYS = (*SUBJECTS[:2], "string(request.body.a)")
SECRET = bytes(32)
LOOKS = 3
FULL = 10
"""The scale of the sets that the search measures; a test takes smaller ones."""


@attrs.frozen
class Case:
    """A set and an event, with what is fixed about them by a seed."""

    name: str
    definitions: Definitions
    event: bytes


Kind: TypeAlias = "Callable[..., Case]"
"""Makes a case of a generator of numbers and a scale."""


@attrs.frozen
class Measured:
    """Milliseconds of processor of one decision, the first and the least of some, and the work."""

    first_ms: float
    least_ms: float
    work: tuple[int, int, int]

    @property
    def worst_ms(self) -> float:
        """The dearest of them."""
        return max(self.first_ms, self.least_ms)


def definitions(conditions: Sequence[str], **members: Any) -> Definitions:
    """A set of one policy for each condition."""
    return Definitions(
        tenant=Tenant(tenant_id=str(TENANT), name="Hostile", slug="hostile"),
        revision=1,
        policies=tuple(
            _policy(number, Clause(name="c", expression=each))
            for number, each in enumerate(conditions)
        ),
        **members,
    )


def _policy(number: int, *clauses: Clause) -> Policy:
    return Policy(
        policy_id=_id(f"policy {number}"),
        name=f"Policy {number}",
        slug=f"p{number}",
        status="active",
        clauses=clauses,
    )


def _id(name: str) -> str:
    return str(uuid5(TENANT, name))


def event(dice: random.Random, letters: str = "ab") -> bytes:
    """The largest legal event of these letters, in three texts of 16 KB."""
    path, agent, body = (
        "".join(dice.choice(letters) for _ in range(LONGEST)) for _ in range(len(SUBJECTS))
    )
    request = {"method": "POST", "path": "/" + path, "user_agent": agent, "body": {"a": body}}
    return orjson.dumps({"request": request})


def accepted(patterns: Sequence[str]) -> list[str]:
    """Patterns that are accepted, those of most work first."""
    work = {}
    for pattern in patterns:
        with suppress(RegexError):
            found = parse(pattern).work
            if found <= DEFAULT.regex_work:
                work[pattern] = found
    return sorted(work, key=lambda pattern: -work[pattern])


# --- kinds of sets ------------------------------------------------------------------------


def many_patterns(dice: random.Random, scale: int = FULL) -> Case:
    """200 policies of 18 patterns each at full scale, of which none is found."""
    each = 18
    pool = accepted([*CROWDED, *(crowd(dice) for _ in range(300))])[:60]
    conditions = []
    for number in range(20 * scale):
        # A letter that no text has makes each pattern another one.
        patterns = [f"{dice.choice(pool)}{_mark(number * each + at)}" for at in range(each)]
        tests = [f"{dice.choice(SUBJECTS)}.matches({quoted(one)})" for one in accepted(patterns)]
        conditions.append(" || ".join(tests) or "false")
    return Case("patterns", definitions(conditions), event(dice))


def negated_patterns(dice: random.Random, scale: int = FULL) -> Case:
    """Patterns behind a negation, which lead to nothing."""
    pool = accepted([*CROWDED, *(crowd(dice) for _ in range(300))])[:60]
    conditions = [
        f"!{dice.choice(SUBJECTS)}.matches({quoted(pattern)})"
        for number in range(40 * scale)
        for pattern in accepted([dice.choice(pool) + _mark(number)])
    ]
    return Case("negated patterns", definitions(conditions), event(dice))


def indexed_patterns(dice: random.Random, scale: int = FULL) -> Case:
    """Patterns that the index runs, each for two policies."""
    pool = accepted([*CROWDED, *(crowd(dice) for _ in range(300))])[:60]
    conditions = []
    for number in range(100 * scale):
        for pattern in accepted([f"{dice.choice(pool)}(?:{_mark(number)}|ab)"]):
            test = f"{dice.choice(SUBJECTS[:2])}.matches({quoted(pattern)})"
            conditions += [f'{test} && request.method == "POST"', f'{test} && request.host == ""']
    return Case("indexed patterns", definitions(conditions), event(dice))


def extracts(dice: random.Random, scale: int = FULL) -> Case:
    """Matches that are taken, which are found backwards and then forwards."""
    pool = accepted([*CROWDED, *(crowd(dice) for _ in range(300))])
    forms = (
        'regex.extract({0}, {1}).orValue("x") == "y{2}"',
        "size(regex.extractAll({0}, {1})) == 1{2}",
        'regex.replace({0}, {1}, "") == "y{2}"',
    )
    texts: list[str] = []
    while len(texts) < 20 * scale:
        subject, pattern = dice.choice(SUBJECTS), quoted(dice.choice(pool))
        text = dice.choice(forms).format(subject, pattern, len(texts))
        if _checks(text):
            texts.append(text)
    return Case("extracts", definitions(texts), event(dice))


DEAR_CALLS = (
    '{0}.replace("a", "bc").replace("b", "ac") == "x{1}"',
    '{0}.split("a").join("b{1}") == "x"',
    'size({0}.split("")) == {1}',
    '{0}.upper().lower().upper().lower() == "x{1}"',
    '{0}.reverse().reverse() == "x{1}"',
    'hash.sha256({0}) == b"x{1}"',
    'hash.md5({0}) == b"x{1}"',
    'base64.encode(bytes({0})) == "x{1}"',
    '{0}.urlDecode().urlDecode() == "x{1}"',
    '{0}.like("*a*b*a*b*x{1}")',
    '{0}.ilike("*A*b*a*b*x{1}*")',
    '{0}.contains("{2}x{1}")',
    '{0}.lastIndexOf("{2}x{1}") == 3',
    '{0}.indexOf("{2}x{1}") == 3',
    '{0}.containsAny(["{2}x{1}", "{2}y{1}"])',
    "size({0}) == {1}",
    '{0}.charAt({1}) == "x" || {0}.charAt(15{1}) == "y"',
    'request.headers.exists(k, request.headers[k].lowerAscii().contains("x{1}"))',
    'request.headers.all(k, size(k) < {1}9 && k.matches("^h[0-9]*$"))',
    'request.headers.exists(k, v, k + v == "x{1}")',
    'request.headers.map(k, k + "{1}").exists(s, s == "x")',
    'request.headers.filter(k, k.startsWith("h{1}")).size() == 999',
    'bucket({0}, "salt{1}", 100) == 101',
    'strings.quote({0}) == "x{1}"',
    '{0}.trim().substring({1}).trim() == "x"',
    'timestamp("2024-01-01T00:00:00Z").getHours("Europe/Berlin") == 2{1}',
    'request.headers.all(k, timestamp("2024-01-01T00:00:00Z").getHours("Europe/Berlin") < 3{1})',
    "request.headers.all(k, double(size(k)) / 3.0 != {1}.5)",
    'request.headers.exists(k, "%s-%d".format([k, {1}]) == "x")',
    'request.headers.exists(k, ip("10.0.0.1").masked(24, 48) == ip("10.{1}.0.0"))',
    'request.headers.exists(k, inIpRange(request.client_ip, ["10.0.0.0/8", "11.{1}.0.0/16"]))',
    'string({0}).ascii() == "x{1}"',
    '{0}.lower() == "x{1}"',
    '{0}.foldCase() == "x{1}"',
)
"""Everything the library has that looks at all of a text, or at many entries."""


def dear_calls(dice: random.Random, scale: int = FULL, forms: Sequence[str] = DEAR_CALLS) -> Case:
    """Calls without patterns, each as often as an expression may afford."""
    conditions: list[str] = []
    choices = [form for form in forms if _checks(form.format(SUBJECTS[0], 1, "ab"))]
    if not choices:
        raise ValueError(f"none of these checks: {forms}")
    for number in range(40 * scale):
        part = choices[number % len(choices)]
        made = part.format(dice.choice(SUBJECTS), number % 100, "ab" * dice.randrange(1, 9))
        conditions.append(made)
    headers = {f"h{number}": "a" * 8 for number in range(250)}
    base = orjson.loads(event(dice))
    base["request"]["headers"] = headers
    base["request"]["client_ip"] = "192.0.2.7"
    return Case("dear calls", definitions(conditions), orjson.dumps(base))


def one_dear_call(form: str) -> Kind:
    """A kind of one call alone: what its unit takes is not hidden by others."""

    def make(dice: random.Random, scale: int = FULL) -> Case:
        case = dear_calls(dice, scale, [form])
        return attrs.evolve(case, name=form[:48])

    return make


def many_entities(dice: random.Random, scale: int = FULL) -> Case:
    """The most entities that are allowed, each with a key of all that an event has."""
    entities = tuple(
        EntityDefinition(
            entity_definition_id=_id(f"entity {number}"),
            name=f"Entity {number}",
            slug=f"e{number}",
            key_fields=(*KEYS, "request.method"),
        )
        for number in range(200 * scale)
    )
    return Case("entities", definitions(["false"], entities=entities), event(dice))


def many_windows(dice: random.Random, scale: int = FULL) -> Case:
    """Windows that all count the longest values."""
    entity = EntityDefinition(
        entity_definition_id=_id("entity"),
        name="Entity",
        slug="e",
        key_fields=("request.method",),
    )
    clauses = tuple(
        Clause(
            name=f"c{number}",
            expression=f'request.method != "x{number}"',
            entity="e",
            window=Window(
                duration_seconds=60 + number,
                threshold=2 + number % 7,
                measure="distinct",
                field=KEYS[number % 3],
            ),
        )
        for number in range(100)
    )
    policies = tuple(_policy(number, *clauses) for number in range(6 * scale))
    made = attrs.evolve(definitions([], entities=(entity,)), policies=policies)
    return Case("windows", made, event(dice))


def all_fire(dice: random.Random, scale: int = FULL) -> Case:
    """Every clause of many fires, and every other is an error."""
    mitigation = Mitigation(
        mitigation_id=_id("m"), name="M", slug="m", mode="Block", ttl_seconds=60, block=Block()
    )
    clauses = [
        Clause(
            name=f"c{number}",
            expression=f"int(request.user_agent) == {number}"
            if number % 2
            else f'request.method != "x{number}"',
            mitigation="m",
        )
        for number in range(100)
    ]
    policies = tuple(_policy(number, *clauses) for number in range(10 * scale))
    made = attrs.evolve(definitions([], mitigations=(mitigation,)), policies=policies)
    return Case("all fire", made, event(dice))


def many_errors(dice: random.Random, scale: int = FULL) -> Case:
    """An error in each of many policies: every one of them is named in the record."""
    path = f"request.query_params[{quoted(str(dice.random()))}]"
    conditions = [f"int({path}) == {number}" for number in range(1_000 * scale)]
    return Case("errors", definitions(conditions), event(dice))


def many_values(dice: random.Random, scale: int = FULL) -> Case:
    """Windows that each count another value; every other value is an error."""
    entity = EntityDefinition(
        entity_definition_id=_id("entity"), name="Entity", slug="e", key_fields=("request.method",)
    )

    def clause(number: int) -> Clause:
        missing = quoted(str(dice.random()))
        field = f"request.method + request.query_params[{missing}]"
        counted = field if number % 2 else f'request.method + "{number}"'
        window = Window(duration_seconds=60, threshold=2, measure="distinct", field=counted)
        return Clause(name="c", expression=f'request.host != "{number}"', entity="e", window=window)

    policies = tuple(_policy(number, clause(number)) for number in range(1_000 * scale))
    made = attrs.evolve(definitions([], entities=(entity,)), policies=policies)
    return Case("values", made, event(dice))


def _mark(number: int) -> str:
    return "".join("QWERTYUIOP"[int(digit)] for digit in str(number))


def _checks(text: str) -> bool:
    try:
        check(text, Schema.default())
    except ExpressionError:
        return False
    return True


KINDS: tuple[Kind, ...] = (
    many_patterns,
    negated_patterns,
    indexed_patterns,
    extracts,
    dear_calls,
    many_entities,
    many_windows,
    all_fire,
    many_errors,
    many_values,
)


# --- measuring ----------------------------------------------------------------------------


def engine_of(case: Case) -> NativeEngine:
    """The engine of a case.

    Raises:
        ValueError: the set is not accepted.
    """
    compilation = compile_all(case.definitions)
    errors = [each for each in compilation.findings if each.severity == "error"]
    if errors:
        raise ValueError(errors[0].message)
    return NativeEngine(bundle(compilation.compiled))


def measure(case: Case) -> Measured:
    """The cost of a decision of the case."""
    engine, redactor = engine_of(case), Redactor([], SECRET)
    times = []
    for _ in range(LOOKS + 1):
        started = time.thread_time()
        calls = engine.read_calls([case.event], [True], SECRET)
        calls.decide(TENANT.bytes, [str(TENANT)], NOW, "https://edge.test", redactor)
        times.append((time.thread_time() - started) * 1e3)
    return Measured(times[0], min(times[1:]), engine.work_of(case.event, NOW))


def climb(make: Kind, seed: int, rounds: int) -> tuple[int, Measured]:
    """The dearest of some cases of a kind, by their seeds."""
    best = (seed, measure(make(random.Random(seed))))
    for number in range(seed + 1, seed + rounds):
        found = measure(make(random.Random(number)))
        if found.worst_ms > best[1].worst_ms:
            best = (number, found)
    return best


@click.command()
@click.option("--rounds", default=3, show_default=True, help="Seeds tried of each kind.")
@click.option("--seed", default=0, show_default=True, help="The first seed.")
@click.option("--calls/--no-calls", default=False, help="Each dear call by itself too.")
def main(rounds: int, seed: int, calls: bool) -> None:
    """Search for the dearest decision."""
    kinds = [*KINDS, *(one_dear_call(form) for form in DEAR_CALLS)] if calls else list(KINDS)
    click.echo(f"{'first ms':>9} {'least ms':>9} {'search':>9} {'entities':>9} {'walk':>9}  kind")
    for make in kinds:
        try:
            found, measured = climb(make, seed, rounds)
        except ValueError as error:
            click.echo(str(error))
            continue
        name = make(random.Random(found)).name
        search, entities, walk = measured.work
        click.echo(
            f"{measured.first_ms:>9.2f} {measured.least_ms:>9.2f} {search:>9} {entities:>9} "
            f"{walk:>9}  {name} (seed {found})"
        )


if __name__ == "__main__":
    main()
