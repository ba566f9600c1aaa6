"""Files of policy tests as they are read, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.policies.shop import TESTS, of_steps

from tidegate.errors import DefinitionsError
from tidegate.testing.policies.reading import TestFile, read_tests

PATH = Path("folder/shop.tidegate-test.yaml")


def read(text: str) -> TestFile:
    return read_tests(text, PATH)


def findings(text: str) -> list[tuple[str, int | None, int | None]]:
    with pytest.raises(DefinitionsError) as refused:
        read(text)
    return [(each.code, each.line, each.column) for each in refused.value.diagnostics]  # type: ignore[attr-defined]


def test_a_file_has_its_tests_with_their_lines() -> None:
    """Paths are relative to the file, and each test and step knows its line."""
    made = read(TESTS)
    assert made.definitions == Path("folder/shop.yaml")
    (case,) = made.cases
    assert (case.line, [each.line for each in case.steps]) == (9, [11, 12, 15, 16])
    assert case.steps[0].every == 2_000_000_000
    assert case.steps[3].after == 900_000_000_000
    assert case.start == 1_772_445_600_000_000_000


def test_a_path_replaces_one_member() -> None:
    """`with` replaces members by their path, and names of headers and fields may have dots."""
    step = (
        "{send: login, with: {request.client_ip: 10.0.0.1, request.headers.x.y: a, fields.a.b: 1},"
        " expect: {action: allow}}"
    )
    (case,) = read(of_steps(step)).cases
    assert case.steps[0].event == {
        "request": {
            "method": "POST",
            "path": "/account/login",
            "client_ip": "10.0.0.1",
            "headers": {"x.y": "a"},
        },
        "fields": {"status": "401", "a.b": 1},
    }


def test_an_event_may_stand_in_the_step() -> None:
    """`send` is a name of `events`, or an event."""
    (case,) = read(of_steps("{send: {fields: {a: null}}, expect: {action: allow}}")).cases
    assert case.steps[0].event == {"fields": {"a": None}}


@pytest.mark.parametrize(
    ("step", "code", "column"),
    [
        ("{send: login, tims: 2}", "unknown-member", 23),
        ("{send: login, expect: {actoin: allow}}", "unknown-member", 32),
        ("{send: login, expect: {action: deny}}", "unknown-value", 40),
        ("{send: login, expect: {policy: null}}", "missing-value", 32),
        ("{send: login, expect: {policy: }}", "missing-value", 32),
        ("{send: login, expect: {}}", "nothing-expected", 31),
        ("{send: login}", "nothing-expected", 5),
        ("{send: login, expect: {refused: a, action: allow}}", "wrong-test", 41),
        ("{send: logn, expect: {action: allow}}", "unknown-event", 16),
        ("{send: 3, expect: {action: allow}}", "wrong-type", 16),
        ("{send: login, after: soon, expect: {action: allow}}", "invalid-duration", 30),
        ("{send: login, after: -1s, expect: {action: allow}}", "invalid-duration", 30),
        ("{send: login, every: 1s, expect: {action: allow}}", "needless-every", 30),
        ("{send: login, times: 0, expect: {action: allow}}", "out-of-range", 30),
        ("{send: login, with: [1], expect: {action: allow}}", "wrong-type", 29),
        ("{send: login, with: {request: {}}, expect: {action: allow}}", "wrong-path", 39),
        ("{send: login, with: {requst.path: a}, expect: {action: allow}}", "unknown-member", 43),
        ("{send: login, with: {request.pth: a}, expect: {action: allow}}", "unknown-member", 43),
        ("{send: {requst: {}}, expect: {action: allow}}", "unknown-member", 25),
        ("{send: {request: {pth: a}}, expect: {action: allow}}", "unknown-member", 32),
        ("{send: {a: 1, a: 2}, expect: {action: allow}}", "duplicate-member", 23),
        ('{send: {fields: {a: "\\ud800"}}, expect: {action: allow}}', "invalid-yaml", 32),
        ("{send: login, after: 2100000h, expect: {action: allow}}", "invalid-time", 5),
    ],
)
def test_a_mistake_is_refused_where_it_is(step: str, code: str, column: int) -> None:
    """Each mistake of a step has its code, line and column."""
    found = findings(of_steps(step))
    line = 9 if column == 5 else 11
    assert (code, line, column) in found


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("tidegate.test/v1", "tidegate/v1", "unknown-version"),
        ("2026-03-02T10:00:00Z", "yesterday", "invalid-time"),
        ("2026-03-02T10:00:00Z", "1969-03-02T10:00:00Z", "invalid-time"),
        ("definitions: shop.yaml\n", "", "missing-member"),
        ("definitions: shop.yaml", "definitions:", "missing-value"),
        ("path: /account/login", "pth: /account/login", "unknown-member"),
        ("    steps:", "    replay: a.jsonl\n    steps:", "wrong-test"),
        ("    steps:", "    expect: {decisions: a}\n    steps:", "wrong-test"),
        ("tests:\n", "tests:\n  - {name: a}\n", "wrong-test"),
        ("tests:\n", "tests:\n  - {name: a, replay: b}\n", "nothing-expected"),
        ("tests:\n", "tests:\n  - {name: a, replay: b, expect: {}}\n", "nothing-expected"),
        ("tests:\n", "tests:\n  - {name: a, replay: b, expect: {block: {}}}\n", "nothing-expected"),
        ("tests:\n", 2 * "  - {name: a, replay: b, expect: {decisions: c}}\n", "invalid-yaml"),
        (
            "tests:\n",
            "tests:\n" + 2 * "  - {name: a, replay: b, expect: {decisions: c}}\n",
            "duplicate-test",
        ),
    ],
)
def test_a_mistake_of_the_file_is_refused(old: str, new: str, code: str) -> None:
    """Each mistake around the steps has its code."""
    assert code in [each[0] for each in findings(TESTS.replace(old, new, 1))]
