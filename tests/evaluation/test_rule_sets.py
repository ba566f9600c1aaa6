"""Indexed rule sets: the rules that hold are those of the reference."""

from __future__ import annotations

import gc
import threading

import orjson
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.generators.sets import Run, main

import tidegate
from tidegate.errors import CanonicalFormError, EventError
from tidegate.evaluation.rules import Evaluator

EVENT = b'{"request":{"method":"GET","path":"/login","user_agent":"GoogleBot"}}'


@pytest.mark.parametrize("seed", range(3))
def test_indexed_sets_hold_as_the_reference_says(seed: int) -> None:
    """A short run of what `python -m tests.generators.sets` does at length."""
    run = Run(seed)
    differing = [str(each) for _ in range(25) for each in run.one()]
    assert differing == []
    assert run.held > 100


def test_command_tells_what_it_saw() -> None:
    """The command says how many sets it ran and how many answers differ."""
    result = CliRunner().invoke(main, ["--sets", "3", "--seed", "9"])
    assert result.exit_code == 0
    assert result.output.startswith("3 sets")
    assert "0 differ" in result.output


def test_what_a_search_finds_settles_a_rule_only_where_that_is_certain() -> None:
    """A number in no order, a search that was given up, and a rule that costs too much."""
    run = "a" * 40
    rules = tidegate.RuleSet(
        {
            "number": 'double(fields["n"]) > 0.5',
            "costly": " || ".join(f'request.path.contains("{run}{n}")' for n in range(30)),
            **{f"part{n}": f'request.path.contains("{run[: 4 + n % 36]}{n}")' for n in range(2000)},
        }
    )
    paths = ["/" + "a" * 12_000, "/" + "a" * 12_000 + "7", "/" + run + "39", "/aaaaaaaaaaa7"]
    held = []
    for path in paths:
        for number in ("NaN", "0.75", "0.25", ""):
            event = orjson.dumps({"request": {"path": path}, "fields": {"n": number}})
            every = rules.match(event, errors=True)
            assert rules.match(event).matched == every.matched
            held.append(every)
    assert any("number" in each.matched for each in held)
    assert any(each.matched and not each.errors for each in held)
    assert any("costly" in each.errors for each in held)


NEGATIONS = (
    'request.path != "/{}"',
    '!(request.path.contains("{}") || request.method == "{}")',
    'request.path != "/{}" || request.user_agent != "{}"',
    '!request.headers.exists(name, request.headers[name] == "{}")',
    'request.headers.all(name, name != "{}" && !request.headers[name].contains("{}"))',
    '!(request.path.matches("[0-9]{}$"))',
    'double(fields["n"]) != {}.5',
    '!("{}" in request.headers) && int(fields["n"]) != {}',
    "ghost != {}",
    '!ip(request.client_ip).isLoopback() || request.path != "{}"',
    'request.path != "/{}" && request.path != "/1" && request.method == "GET"',
)


def test_rules_that_say_what_must_not_be_hold_as_the_reference_says() -> None:
    """Negations have the reference's answers, whatever the event has, lacks or cannot read."""
    expressions = {
        f"{shape}-{number}": text.format(number, number)
        for shape, text in enumerate(NEGATIONS)
        for number in range(12)
    }
    schema = tidegate.Schema.default().with_variables({"ghost": "int"})
    native = tidegate.RuleSet(expressions, schema)
    reference = tidegate.RuleSet(expressions, schema, evaluator="reference")
    for request in (
        {},
        {"path": "/3", "method": "GET", "client_ip": "127.0.0.1"},
        {"path": "5", "method": "7", "user_agent": "5", "client_ip": "10.0.0.1"},
        {"path": "/" + "1" * 9000, "headers": {"4": "x", "y": "11"}},
    ):
        for more in ({}, {"fields": {"n": "4"}}, {"fields": {"n": "NaN"}}, {"ghost": 3}):
            event = orjson.dumps({"request": request, **more})
            assert native.match(event) == reference.match(event)
            assert native.match(event, errors=True) == reference.match(event, errors=True)


def test_alternatives_that_exclude_each_other_each_lead_to_their_rule() -> None:
    """Each of two exclusive alternatives leads to its rule, also when other rules share them."""
    other = 'cidr("10.1.2.3/32").containsIP(fields["x"])'
    expressions = {
        "both": f'!(derived.is_bot && (request.method == "ab" || derived.is_bot || {other})'
        " && !derived.is_bot)",
        "shares": f'({other} && request.method == "ab") && ({other} && !derived.is_bot)',
    }
    native = tidegate.RuleSet(expressions)
    reference = tidegate.RuleSet(expressions, evaluator="reference")
    for request in ({"user_agent": "Bot"}, {"user_agent": "curl", "method": "ab"}, {}):
        event = orjson.dumps({"request": request})
        assert native.match(event) == reference.match(event)
        assert "both" in native.match(event).matched


def test_a_long_answer_names_the_rules_of_its_set() -> None:
    """The names of long answers are kept, and are not those of the set before a change."""
    rules = tidegate.RuleSet({str(n): f'request.path != "/{n}"' for n in range(200)})
    every = [str(number) for number in range(200)]
    assert rules.match(b"{}").matched == rules.match(b"{}").matched == every
    changed = rules.with_changes({"new": 'request.path != "/"'}, remove=["7"])
    assert changed.match(b"{}").matched == [*every[:7], *every[8:], "new"]
    assert rules.match(EVENT).matched == every


def test_stats_name_the_rules_that_are_evaluated_on_every_event() -> None:
    """A rule that only excludes is evaluated on every event, and stats say so."""
    rules = tidegate.RuleSet(
        {
            "bot": 'request.user_agent.lowerAscii().contains("bot") && request.method == "GET"',
            "login": 'request.path == "/login" && request.method == "GET"',
            "not-get": 'request.method != "GET"',
            "not-like": '!request.path.like("/a*b*c")',
        }
    )
    stats = rules.stats()
    assert (stats.rules, stats.indexed, stats.searched, stats.shared) == (4, 2, 3, 1)
    assert stats.always == dict.fromkeys(["not-get", "not-like"], "only says what must not be")
    assert rules.match(EVENT).matched == ["bot", "login", "not-like"]


def test_a_sample_changes_no_answer() -> None:
    """A sample changes where the index looks first, never the answer."""
    expressions = {
        str(number): f'request.path.startsWith("/{letter}") || request.method == "{method}"'
        for number, (letter, method) in enumerate(
            (letter, method) for letter in "lmn" for method in ("GET", "POST")
        )
    }
    plain = tidegate.RuleSet(expressions)
    trained = tidegate.RuleSet(expressions, sample=[EVENT, b"no event", b"{}"])
    for event in (EVENT, b"{}", b'{"request":{"path":"/n","method":"PUT"}}'):
        assert plain.match(event) == trained.match(event)
        assert plain.match(event, errors=True).matched == plain.match(event).matched


def test_the_reference_has_no_index() -> None:
    """The reference evaluates every rule, and says so."""
    stats = tidegate.RuleSet({"a": "true"}, evaluator="reference").stats()
    assert (stats.indexed, stats.always) == (0, {"a": "the reference evaluates every rule"})


TEXTS = (
    'request.path == "/login" && request.method == "GET"',
    'request.path.startsWith("/log") && !("x" in request.headers)',
    'request.user_agent.matches("[Bb]ot") && request.path != "/"',
    'request.method == "GET" && request.path == "/login"',
    'request.method != "GET"',
    "count > 3",
    'request.headers["x"] == "1"',
)
SCHEMA = tidegate.Schema.default().with_variables({"count": "int"})
EVENTS = (EVENT, b"{}", b'{"count":7,"request":{"headers":{"x":"1"}}}')
IDS = st.sampled_from("abcdef")
SETS = st.dictionaries(IDS, st.sampled_from(TEXTS))


def changed(rules: dict[str, str], new: dict[str, str], gone: set[str]) -> dict[str, str]:
    """A set of rules after a change."""
    return {name: text for name, text in rules.items() if name not in gone} | new


@given(SETS, st.lists(st.tuples(SETS, st.sets(IDS)), max_size=6))
def test_a_changed_set_is_as_if_built_whole(
    rules: dict[str, str], changes: list[tuple[dict[str, str], set[str]]]
) -> None:
    """Answers, their order, the statistics and the canonical form are those of a new set."""
    found = tidegate.RuleSet(rules, SCHEMA, sample=EVENTS)
    for new, named in changes:
        gone = named & rules.keys()
        found = found.with_changes(new, remove=gone)
        rules = changed(rules, new, gone)
    whole = tidegate.RuleSet(rules, SCHEMA, sample=EVENTS)
    assert [found.match(event) for event in EVENTS] == [whole.match(event) for event in EVENTS]
    assert found.match(EVENT, errors=True) == whole.match(EVENT, errors=True)
    assert found.stats() == whole.stats()
    assert orjson.loads(found.to_canonical()) == orjson.loads(whole.to_canonical())
    assert len(found) == len(whole)


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_an_answer_is_the_named_tuple_of_the_package(evaluator: Evaluator) -> None:
    """An answer is a named tuple of its own, collected like any other."""
    rules = tidegate.RuleSet({"a": TEXTS[0], "e": "1 / count == 1"}, SCHEMA, evaluator)
    event = b'{"count": 0, ' + EVENT[1:]
    found = rules.match(event, errors=True)
    assert type(found) is tidegate.Matches
    assert found == (["a"], {"e": "divide_by_zero"})
    matched, errors = found
    assert (matched, errors) == (found.matched, found.errors)
    found.matched.append("more")
    assert rules.match(event) == tidegate.Matches(["a"], {})
    assert gc.is_tracked(found)
    assert set(map(id, gc.get_referents(found))) >= {id(matched), id(errors)}


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_a_change_leaves_the_set_it_was_made_of(evaluator: Evaluator) -> None:
    """Changes give a new set; a set read from its canonical form is changed like any other."""
    before = tidegate.RuleSet({"a": TEXTS[0], "b": TEXTS[1]}, SCHEMA, evaluator)
    after = before.with_changes({"c": TEXTS[3], "a": TEXTS[4]}, remove=["b"])
    assert (before.match(EVENT).matched, after.match(EVENT).matched) == (["a", "b"], ["c"])
    read = tidegate.RuleSet.from_canonical(after.to_canonical(), evaluator)
    again = read.with_changes({"a": TEXTS[0], "n": "count > 3"})
    assert again.match(EVENT).matched == ["a", "c"]
    assert again.match(EVENTS[2]).matched == ["n"]


@pytest.mark.parametrize("evaluator", ["native", "reference"])
@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        (b"{", b"", ""),
        (b'"version":1', b'"version":-', ""),
        (b'"version":1', b'"version":2', "/version"),
        (b'"fields":{', b'"fields":{"x":"list(x)",', "/fields"),
        (b'"limits":{', b'"limits":1,"other":{', "/limits"),
        (b'"programs":', b'"rules":', "/programs"),
        (b'"id":', b'"name":', "/programs/0"),
        (b'"kind":"literal"', b'"kind":"nothing"', "/programs/0"),
    ],
)
def test_what_is_no_canonical_form_is_refused(
    evaluator: Evaluator, old: bytes, new: bytes, pointer: str
) -> None:
    """Both evaluators refuse malformed canonical forms with one class of error."""
    data = tidegate.RuleSet({"a": "count == 1"}, SCHEMA).to_canonical()
    with pytest.raises(CanonicalFormError) as caught:
        tidegate.RuleSet.from_canonical(data.replace(old, new, 1), evaluator)
    found = caught.value.pointer
    assert found.startswith(pointer) if evaluator == "native" else pointer.startswith(found)


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_a_change_that_is_refused_says_why(evaluator: Evaluator) -> None:
    """An unknown id is a KeyError; a text that does not check names its rule."""
    rules = tidegate.RuleSet({"a": TEXTS[0]}, evaluator=evaluator)
    with pytest.raises(KeyError, match="b"):
        rules.with_changes({}, remove=["b"])
    with pytest.raises(tidegate.ExpressionError, match="rule `c`"):
        rules.with_changes({"c": "request.nothing"})


def test_a_thread_may_match_while_another_changes() -> None:
    """Every set that a reader ever sees gives the answer of that set, merges or not."""
    texts = [f'request.path.contains("<{number}>")' for number in range(600)]
    rules = tidegate.RuleSet({str(number): text for number, text in enumerate(texts)})
    event = b'{"request":{"path":"<1> <599>"}}'
    shared, wrong, is_over = [rules], list[list[str]](), threading.Event()

    def read() -> None:
        while not is_over.is_set():
            found = shared[0].match(event).matched
            if found[-1:] != ["599"] or len(found) > 2:
                wrong.append(found)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(599):
        shared[0] = shared[0].with_changes({str(number): f'request.path == "{number}"'})
    is_over.set()
    reader.join()
    assert wrong == []
    assert shared[0].match(event).matched == ["599"]


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_a_batch_is_matched_as_its_events_are(evaluator: Evaluator) -> None:
    """Bytes, dicts and prepared events, in order; a refused one has its error in its place."""
    rules = tidegate.RuleSet(
        {"root": 'request.path == "/"', "number": "int(fields.n) > 1"}, evaluator=evaluator
    )
    texts = [b'{"request":{"path":"/"}}', b'{"fields":{"n":"2"}}', b"{}"]
    alone = [rules.match(text, errors=True) for text in texts]
    assert rules.match_batch(texts, errors=True) == alone
    mixed = [texts[0], {"fields": {"n": "2"}}, rules.prepare(texts[2])]
    assert rules.match_batch(mixed, errors=True) == alone
    for form in (b"[]", {"request": 5}):
        before, refused, after = rules.match_batch([texts[0], form, texts[1]])
        assert isinstance(refused, EventError)
        assert [before, after] == [rules.match(texts[0]), rules.match(texts[1])]
    assert rules.match_batch([]) == []
