"""Conditions that can never hold are named, and nothing else is."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.program import compile

SCHEMA = Schema.default().with_entity_state()
NEVER = [
    'request.path.contains("/../")',
    'request.path == "admin"',
    'request.path.contains("?")',
    'request.path == "/login?next=/"',
    'request.path.startsWith("admin/")',
    'request.path.endsWith("/..")',
    'request.path.contains("//")',
    'request.path.contains("/./")',
    'request.path in ["admin", "login"]',
    'request.path.startsWithAny(["wp-", "./"])',
    'request.path.containsAny(["/../", "//"])',
    'request.path.like("admin*")',
    'request.path.like("*/../*")',
    'request.path.ilike("ADMIN*")',
    'request.path.matches("^admin")',
    'request.path.matchesAny(["^a", "//"])',
    'request.path.lower() == "admin"',
    '"admin" == request.path',
    'request.client_ip == "192.168.1.0/24"',
    'request.client_ip in ["192.168.1.0/24", "10.0.0.0/8"]',
    'request.client_ip == "192.168.1.*"',
    'request.client_ip.like("10.0.0.0/*")',
    'request.client_ip == "::ffff:192.0.2.1"',
    'request.client_ip == "::ffff:c000:201"',
    'request.client_ip == "2001:DB8::1"',
    'request.client_ip == "2001:db8:0:0:0:0:0:1"',
    'request.client_ip == "192.168.001.001"',
    'request.client_ip == "192.0.2.1:443"',
    'request.client_ip == "[2001:db8::1]"',
    'request.client_ip == "fe80::1%eth0"',
    'request.client_ip == "localhost"',
    'request.client_ip.startsWith("::ffff:192.")',
    'request.client_ip.startsWith("300.")',
    'request.client_ip.startsWith("192.168.1.0/")',
    'request.client_ip.contains(", ")',
    'request.client_ip.endsWith(".0/24")',
    'derived.ip_subnet == "10.0.0.0/8"',
    'derived.ip_subnet == "192.0.2.1/24"',
    'derived.ip_subnet == "192.0.2.0"',
    'derived.ip_subnet == "2001:db8::/64"',
    'derived.ip_subnet.endsWith("/32")',
    'derived.client_network == "192.0.2.7"',
    'derived.client_network == "192.0.2.0/24"',
    'derived.client_network == "2001:db8::/48"',
    'derived.client_network == "2001:db8::1/64"',
    'request.host == "shop.example:8443"',
    'request.host == "[::1]:8443"',
    'request.host == "https://shop.example"',
    'request.host.endsWith(".example/")',
    'derived.path_extension == ".php"',
    'derived.path_extension in [".php", ".asp"]',
    'derived.path_extension == "tar.gz"',
    'derived.country == "nl"',
    'derived.country == "Netherlands"',
    'derived.country in ["NLD", "BEL"]',
    'agent.proof == "ip"',
    'agent.purpose.startsWith("ai")',
    '"wp-admin/x" in derived.path_segments',
    '".." in derived.path_segments',
    'derived.path_segments[0] == "/admin"',
    "derived.ip_version == 5",
    "derived.ip_version in [5, 7]",
    "derived.ip_version > 6",
    "derived.asn < 0",
    "-1 == derived.asn",
    "entity.event_count < 0",
    "size(request.path) == -1",
    "observed_at.getHours() > 23",
    "observed_at.getMonth() == 12",
    'observed_at.getDayOfWeek("Europe/Amsterdam") in [7]',
    'request.headers.user_agent == "x"',
    'request.headers["x_forwarded_for"] == "x"',
    "has(request.headers.content_type)",
    '"accept_language" in request.headers',
]
POSSIBLE = [
    'request.raw_path.contains("/../")',
    'request.path == "/admin"',
    'request.path == ""',
    'request.path == "*"',
    'request.path.contains("..")',
    'request.path.contains("/..")',
    'request.path.contains("/.")',
    'request.path.startsWith("/.well-known/")',
    'request.path.endsWith(".")',
    'request.path.contains("%2e%2e")',
    'request.path.contains("admin")',
    'request.path.matches("^/admin")',
    'request.path.ilike("*/ADMIN*")',
    'request.path.upper() == "/ADMIN"',
    'request.path.urlDecode().contains("/../")',
    'request.client_ip == ""',
    'request.client_ip == "192.0.2.1"',
    'request.client_ip == "2001:db8::1"',
    'request.client_ip == "::ffff:0:0:1"',
    'request.client_ip.startsWith("192.168.")',
    'request.client_ip.startsWith("::ffff:")',
    'request.client_ip.startsWith("1")',
    'request.client_ip.endsWith(":443")',
    'request.client_ip.like("10.*.1")',
    'request.client_ip.upper() == "2001:DB8::1"',
    'inIpRange(request.client_ip, "192.168.1.0/24")',
    'derived.ip_subnet == "192.0.2.0/24"',
    'derived.ip_subnet == "2001:db8::/48"',
    'derived.ip_subnet.startsWith("192.0.")',
    'derived.client_network == "192.0.2.7/32"',
    'derived.client_network == "2001:db8:1:2::/64"',
    'derived.client_network.startsWith("192.0.")',
    'request.host == "shop.example"',
    'request.host == "[::1]"',
    'request.host == "::1"',
    'request.host.endsWith(".example")',
    'derived.path_extension == "php"',
    'derived.path_extension == ""',
    'derived.country == "NL"',
    'agent.proof in ["signature", "range", "dns", "name", "none"]',
    'agent.purpose == "" || agent.purpose == "feed"',
    'derived.country == ""',
    'derived.country.lower() == "nl"',
    '"admin" in derived.path_segments',
    '"..." in derived.path_segments',
    'derived.path_segments[0] == "admin"',
    "derived.ip_version == 4",
    "derived.ip_version == 0",
    "derived.asn == 0",
    "size(request.path) == 0",
    "observed_at.getHours() == 0",
    "observed_at.getMonth() == 11",
    "observed_at.getDate() == 31",
    'request.headers["x_own_name"] == "x"',
    'request.headers["user-agent"] == "x"',
]


def codes(text: str) -> set[str]:
    return {each.code for each in check(text, SCHEMA).warnings}


@pytest.mark.parametrize("text", NEVER)
def test_a_condition_that_never_holds_is_named(text: str) -> None:
    """The finding says what a field never is, and how to write it."""
    (found,) = (each for each in check(text, SCHEMA).warnings if each.code == "never-true")
    assert found.hint


@pytest.mark.parametrize("text", POSSIBLE)
def test_a_condition_that_can_hold_is_left_alone(text: str) -> None:
    """A condition that some request satisfies has no such finding."""
    assert not codes(text) & {"never-true", "useless-entry", "always-true"}


def test_an_entry_that_is_never_met_is_named_by_itself() -> None:
    """The other entries of the list can match, so the condition can hold."""
    assert codes('request.path in ["/login", "admin"]') == {"useless-entry"}
    assert codes('request.path != "admin"') == {"always-true"}


EVENTS = {
    "request.path": ["/" + "".join(each) for n in range(7) for each in product("/.a", repeat=n)],
    "request.host": ["".join(each) for n in range(6) for each in product("a:[]8", repeat=n)],
    "request.client_ip": [
        *(".".join(each) for each in product(["0", "1", "10", "01", "255"], repeat=4)),
        *(":".join(each) for n in (5, 6, 8) for each in product(["", "0", "a"], repeat=n)),
        *("::ffff:" + ":".join(each) for each in product(["0", "1", "10"], repeat=2)),
    ],
}
"""Values of an event's member, and by it every text of a field up to some length."""
MEMBERS = {
    "request.path": "path",
    "request.host": "host",
    "request.client_ip": "client_ip",
    "derived.lenient_path": "path",
    "derived.path_extension": "path",
    "derived.ip_subnet": "client_ip",
    "derived.client_network": "client_ip",
}
SOURCES = {"path": "request.path", "host": "request.host", "client_ip": "request.client_ip"}
LETTERS = {"path": "/.ab?", "host": "a:[]8", "client_ip": "01a.:/5"}
TESTS = {
    "==": lambda value, text: value == text,
    "contains": lambda value, text: text in value,
    "startsWith": lambda value, text: value.startswith(text),
    "endsWith": lambda value, text: value.endswith(text),
}


@cache
def values(field: str) -> frozenset[str]:
    """Every text that the field has for one of the events, by evaluation."""
    member = MEMBERS[field]
    program = compile(field)
    found = (program.evaluate({"request": {member: each}}) for each in EVENTS[SOURCES[member]])
    return frozenset(found)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, str, str]:
    field = draw(st.sampled_from(sorted(MEMBERS)))
    known = st.sampled_from(sorted(values(field)))
    parts = st.tuples(known, st.integers(0, 8), st.integers(0, 8)).map(
        lambda it: it[0][it[1] :][: it[2]]
    )
    text = draw(known | parts | st.text(LETTERS[MEMBERS[field]], max_size=6))
    return field, draw(st.sampled_from(sorted(TESTS))), text


@settings(max_examples=1_000, deadline=None)
@given(conditions())
def test_nothing_is_named_that_some_event_satisfies(condition: tuple[str, str, str]) -> None:
    """A generated condition with the finding holds for none of thousands of events."""
    field, operator, text = condition
    written = f'{field} == "{text}"' if operator == "==" else f'{field}.{operator}("{text}")'
    if "never-true" in codes(written):
        assert not any(TESTS[operator](value, text) for value in values(field)), written


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(sorted(TESTS)), st.text("/.a", max_size=3))
def test_every_short_impossible_path_is_named(operator: str, text: str) -> None:
    """A text that no path of up to seven characters satisfies has the finding."""
    field = "request.path"
    written = f'{field} == "{text}"' if operator == "==" else f'{field}.{operator}("{text}")'
    can_hold = any(TESTS[operator](value, text) for value in {"", *values(field)})
    assert ("never-true" in codes(written)) is not can_hold
