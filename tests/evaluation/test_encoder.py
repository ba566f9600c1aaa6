"""From event to fields."""

# ruff: noqa: E501  (one case a line)
from __future__ import annotations

import ipaddress
import json
from datetime import UTC, datetime
from typing import Any

import pytest

import tidegate
from tidegate.errors import EventError
from tidegate.evaluation.agents.registry import KNOWN_AGENTS, KnownAgent
from tidegate.evaluation.encoder import encode
from tidegate.evaluation.geography import Place
from tidegate.evaluation.target import canonical_path
from tidegate.functions.addresses import parse_network
from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.types import parse_type
from tidegate.values import Duration, Map, OptionalValue, Timestamp, UInt

PROXIES = [network for text in ("10.0.0.0/8", "2001:db8::/32") if (network := parse_network(text))]


def fields(event: Any, *names: str, **options: Any) -> list[Any]:
    """Fields of an event, the same from a dict and from bytes; None for what is absent."""
    both = [
        encode(form, names, variables=FIELD_MODEL, trusted_proxies=PROXIES, **options)
        for form in (event, json.dumps(event).encode())
    ]
    assert both[0] == both[1]
    return [both[0].get(name) for name in names]


def request(**members: Any) -> dict[str, Any]:
    return {"request": members}


def test_texts_follow_the_request() -> None:
    """Each text field is made from the request as docs/fields.md says."""
    event = request(
        method="gEt", scheme="HTTPS", path="//A/%2e/b.PHP",
        headers={"Host": "Example.test:443", "User-Agent": "curl", "Referer": "r", "Content-Type": "t"},
    ) | {"source": "edge"}  # fmt: skip
    assert fields(
        event, "request.method", "request.scheme", "request.host", "request.raw_path",
        "request.path", "request.user_agent", "request.referer", "request.content_type", "source",
        "derived.path_extension", "derived.path_segments",
    ) == ["GET", "https", "example.test", "//A/%2e/b.PHP", "/A/b.PHP", "curl", "r", "t", "edge",
          "php", ["A", "b.PHP"]]  # fmt: skip


def test_every_field_of_the_model_has_a_value_of_its_type_or_is_absent() -> None:
    """Even of an empty event each field has a value of its type, or is absent."""
    record = encode({}, FIELD_MODEL, variables=FIELD_MODEL)
    assert set(FIELD_MODEL) - set(record) == {"observed_at", "request.body"}
    assert record["derived.ip_version"] == 0
    assert record["derived.is_bot"] is False
    assert record["request.headers"].total


def test_only_what_is_named_is_computed() -> None:
    """The record holds the named fields and no others."""
    assert encode({"source": "x"}, ["source"], variables=FIELD_MODEL) == {"source": "x"}


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("", ""), ("/", "/"), ("//", "/"), ("/a/../..", "/"), ("a/..", "/"), ("a/./b", "a/b"),
        ("..", ""), ("/..", "/"), ("/a/.", "/a/"), ("/a/..", "/"), ("/a/b/..", "/a/"),
        ("/%2e%2e/a", "/a"), ("/a%2Fb", "/a/b"), ("/%", "/%"), ("/%zz%4", "/%zz%4"),
        ("/%252e", "/%2e"), ("/%ff", "/\ufffd"), ("/a/b/", "/a/b/"), ("/.a/..b", "/.a/..b"),
    ],
)  # fmt: skip
def test_paths_have_one_canonical_form(raw: str, canonical: str) -> None:
    """Decoded once, then without empty and dot segments; a directory stays one."""
    assert canonical_path(raw) == canonical
    assert fields(request(path=raw), "request.path") == [canonical]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("A.test:8080", "a.test"), ("a.test:", "a.test"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"),
        ("::1", "::1"), ("a:80a", "a:80a"), ("[::1]x:80", "[::1]x:80"), ("[:80", "[:80"),
        ("a:b:80", "a:b:80"), (":80", ""), ("", ""), ("a:８０", "a:８０"),
    ],
)  # fmt: skip
def test_hosts_lose_their_port(host: str, expected: str) -> None:
    """A host loses its port and nothing else."""
    assert fields(request(host=host), "request.host") == [expected]


def test_header_names_fold_and_values_join() -> None:
    """Values of one name are joined, and equal header names at the place of the first."""
    event = request(
        headers={"Accept": ["a", None, 1.5, True], "X": [], "accept": "b", "Y": None},
        cookies={"A": ["1", "2"], "a": "3"},
    )
    event["fields"] = {"f": ["", "../x"], "g": [None, 1]}
    event["request"]["route_params"] = {"f": ["ok", "../x"]}
    headers, cookies = fields(event, "request.headers", "request.cookies")
    others = fields(event, "fields", "request.route_params")
    assert [dict(each) for each in others] == [{"f": ", ../x", "g": "1"}, {"f": "ok, ../x"}]
    assert list(headers.items()) == [("accept", "a, 1.5, true, b")]
    assert list(cookies.items()) == [("A", "1, 2"), ("a", "3")]


def test_numbers_from_text_stay_as_they_were_written() -> None:
    """Numbers keep their JSON text; from a dict they have Python's text."""
    names = ["fields"]
    data = b'{"fields":{"a":1.50,"b":-0,"c":1E2}}'
    assert dict(encode(data, names, variables=FIELD_MODEL)["fields"]) == {
        "a": "1.50", "b": "-0", "c": "1E2",
    }  # fmt: skip
    event = {"fields": {"a": 1.50, "b": UInt(7), "c": 10**30, "d": False}}
    assert dict(encode(event, names, variables=FIELD_MODEL)["fields"]) == {
        "a": "1.5", "b": "7", "c": str(10**30), "d": "false",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("client_ip", "text", "subnet", "version"),
    [
        ("192.0.2.7", "192.0.2.7", "192.0.2.0/24", 4),
        ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24", 4),
        ("2001:DB8:1:2::0", "2001:db8:1:2::", "2001:db8:1::/48", 6),
        ("192.0.2.07", "", "", 0),
        ("", "", "", 0),
    ],
)
def test_client_addresses_are_canonical(
    client_ip: str, text: str, subnet: str, version: int
) -> None:
    """A client address is canonical text, or empty when it is not an address."""
    names = ("request.client_ip", "derived.ip_subnet", "derived.ip_version")
    assert fields(request(client_ip=client_ip), *names) == [text, subnet, version]


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("6.6.6.6, 192.0.2.1,10.0.0.1 ,\t10.0.0.2", "192.0.2.1"),
        ("6.6.6.6, unknown, 10.0.0.1", ""),
        ("10.0.0.1", ""),
        ("192.0.2.1, 2001:db8::1, ::ffff:10.0.0.1", "192.0.2.1"),
    ],
)
def test_the_client_is_the_rightmost_address_that_is_no_trusted_proxy(
    chain: str, expected: str
) -> None:
    """The client is the rightmost address outside trusted proxies; an unreadable entry ends the
    search."""
    event = request(headers={"X-Forwarded-For": chain})
    assert fields(event, "request.client_ip") == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[1, 2.5]", [1, 2.5]),
        ({"a": [None]}, Map([("a", [None])])),
        ("18446744073709551615", UInt(2**64 - 1)),
        ("null", None),
        ('{"a":1,"a":2}', None),
        ("[1e999]", None),
        ("x", None),
        (5, None),
    ],
)
def test_bodies_are_values_or_strict_json_text(body: Any, expected: Any) -> None:
    """A body that is neither is absent; structured ones aren't fields."""
    found, entries = fields({"fields": {"body": body, "k": "v"}}, "request.body", "fields")
    assert found == expected
    assert ("body" in entries) == (not isinstance(body, dict))


def test_bodies_of_dicts_are_held_to_the_same_numbers() -> None:
    """A body from a dict may hold no infinity, as in JSON."""
    event = {"fields": {"body": [float("inf")]}}
    assert encode(event, ["request.body"], variables=FIELD_MODEL) == {}


def test_moments_are_read_in_either_form() -> None:
    """Text with an offset, or Python's own."""
    text = {"observed_at": "2026-03-02T01:00:00.5+01:00"}
    moment = Timestamp(1_772_409_600_500_000_000)
    assert fields(text, "observed_at") == [moment]
    for given in (moment, datetime(2026, 3, 2, 0, 0, 0, 500_000, tzinfo=UTC)):
        record = encode({"observed_at": given}, ["observed_at"], variables=FIELD_MODEL)
        assert record == {"observed_at": moment}


@pytest.mark.parametrize("evaluator", ["reference", "native"])
def test_a_naive_datetime_is_refused_by_that_name(evaluator: Any) -> None:
    """The refusal says that a datetime has no time zone, and how it gets one."""
    rules = tidegate.RuleSet({"all": "true"}, evaluator=evaluator)
    with pytest.raises(EventError, match=r"without a time zone.*datetime\.now\(UTC\)") as raised:
        rules.match({"observed_at": datetime(2026, 3, 2), "request": {"path": "/"}})
    assert raised.value.pointer == "/observed_at"


def test_user_agents_have_families() -> None:
    """A user agent has ua-parser's families, ``Other`` for an unknown one, "" for none."""
    names = ("derived.ua_family", "derived.ua_os", "derived.ua_device", "derived.is_bot")
    bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    assert fields(request(user_agent=bot), *names) == ["Googlebot", "Other", "Spider", True]
    assert fields(request(user_agent="?"), *names) == ["Other", "Other", "Other", False]
    assert fields({}, *names) == ["", "", "", False]
    far = "é" * 512 + bot
    assert fields(request(user_agent=far), "derived.is_bot") == [False]


AGENT_FORMS = (
    "{}",
    "{}/1.0",
    "{}/1.1 (+https://maker.example/bot)",
    "{}/1.1 (+https://maker.example/docs/crawler)",
    "Mozilla/5.0 (compatible; {}/1.0; +https://maker.example/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; {}/1.0; +https://x.example)"
    " Chrome/125.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/13.1.1 Safari/605.1.15 ({}/0.1; +https://maker.example/about)",
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like "
    "Gecko) Chrome/125.0.0.0 Mobile Safari/537.36 (compatible; {})",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 16_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/16.0 Mobile/15E148 Safari/604.1 (compatible; {}/2.1; a@maker.example)",
)
FAMILY_AND_ROBOT = ("derived.ua_family", "derived.is_bot")


@pytest.mark.parametrize("known", KNOWN_AGENTS, ids=lambda known: known.family)
def test_known_agents_have_their_family_in_every_form(known: KnownAgent) -> None:
    """Known agents are robots of their own family alone, with the page of their maker, among a
    browser's words, on a phone, and in any case of letters."""
    for form in AGENT_FORMS:
        for name in (known.family, known.family.lower()):
            event = request(user_agent=form.format(name))
            assert fields(event, *FAMILY_AND_ROBOT) == [known.family, True], form


ON_A_PHONE = (
    "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 "
)


@pytest.mark.parametrize(
    ("user_agent", "family"),
    [
        (ON_A_PHONE + "(compatible; Bytespider; spider-feedback@bytedance.com)", "Bytespider"),
        (ON_A_PHONE + "(compatible; YandexRenderBot/1.0; +http://yandex.com/bots)",
         "YandexRenderBot"),
        (ON_A_PHONE + "(compatible; SemrushBot/7; +http://www.semrush.com/bot.html)", "SemrushBot"),
        (ON_A_PHONE + "(compatible; Barkrowler/0.9; +https://babbar.tech/about)", "Barkrowler"),
        (ON_A_PHONE + "(compatible; CCBot)", "CCBot"),
        (ON_A_PHONE + "TikTokSpider/1.0", "TikTokSpider"),
        ("Barkrowler/0.9 (+https://babbar.tech/crawler)", "Barkrowler"),
        ("Mozilla/5.0 (compatible; Newcomer/1.1; +https://x.example/bot.html)", "Newcomer"),
        ("Newcomer/1.1 (crawler@x.example)", "Newcomer"),
    ],
)  # fmt: skip
def test_robots_have_their_own_family(user_agent: str, family: str) -> None:
    """A robot next to the name of a phone is a robot, and its family isn't the page behind it."""
    assert fields(request(user_agent=user_agent), *FAMILY_AND_ROBOT) == [family, True]


@pytest.mark.parametrize(
    "user_agent",
    [
        "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/80.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 9; CUBOT) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
        "Chrome/80.0 Mobile Safari/537.36 Instagram 120.0 Android (28/9; 320dpi; CUBOT; CUBOT_P30)",
        "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.1; Trident/6.0; http://bsalsa.com)",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 16_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
        "Gecko) Mobile/15E148 WhatsApp/2.23",
        "Mozilla/5.0 (compatible; Konqueror/3.5; Linux) KHTML/3.5 (like Gecko)",
        ON_A_PHONE,
    ],
)
def test_programs_of_people_are_not_robots(user_agent: str) -> None:
    """A phone whose maker's name ends like a robot's, an application, an old browser."""
    assert fields(request(user_agent=user_agent), "derived.is_bot") == [False]


def test_a_word_that_only_begins_like_a_known_agent_is_none() -> None:
    """A user agent that only begins with the word of a known agent is not that agent."""
    for user_agent in ("Claude-Users/1.0", "MyGoogleOther/1.0", "xClaude-Userx"):
        names = ("derived.ua_family", "derived.is_bot")
        assert fields(request(user_agent=user_agent), *names)[1] is False, user_agent


class Atlas:
    """Address databases that know one address."""

    def find(self, address: Any) -> Place:
        is_known = address == ipaddress.ip_address("192.0.2.7")
        return Place("NL" if is_known else "", 64_496, "Example")


def test_addresses_are_looked_up_where_databases_are_given() -> None:
    """Without databases, or without an address, country and network are unknown."""
    names = ("derived.country", "derived.asn", "derived.as_org")
    event = request(client_ip="192.0.2.7")
    assert fields(event, *names, addresses=Atlas()) == ["NL", 64_496, "Example"]
    assert fields(event, *names) == ["", 0, ""]
    assert fields({}, *names, addresses=Atlas()) == ["", 0, ""]


def test_a_stated_place_counts_instead_of_the_databases() -> None:
    """A member `geo` with any text is the whole answer; an empty one is the same as none."""
    names = ("derived.country", "derived.asn", "derived.as_org")
    event = request(client_ip="192.0.2.7")
    stated = {**event, "geo": {"country": "DE"}}
    assert fields(stated, *names, addresses=Atlas()) == ["DE", 0, ""]
    for empty in ({}, None, {"country": None}):
        assert fields({**event, "geo": empty}, *names, addresses=Atlas())[0] == "NL"


@pytest.mark.parametrize(
    ("geo", "pointer"),
    [
        ({"country": "nl"}, "/geo/country"),
        ({"country": "NLD"}, "/geo/country"),
        ({"asn": "AS64496"}, "/geo/asn"),
        ({"asn": 4_294_967_296}, "/geo/asn"),
        ({"asn": "9" * 5_000}, "/geo/asn"),
        ({"city": "Delft"}, "/geo/city"),
    ],
)
def test_a_place_that_can_t_be_used_is_refused_where_it_is_read(
    geo: dict[str, Any], pointer: str
) -> None:
    """An expression that reads the country gets an error; other events pass."""
    event = {"geo": geo}
    with pytest.raises(EventError) as raised:
        fields(event, "derived.as_org")
    assert raised.value.pointer == pointer
    assert fields(event, "source") == [""]


@pytest.mark.parametrize(
    ("event", "pointer"),
    [
        ([], ""),
        ({"source": 1}, "/source"),
        ({"return_url": []}, "/return_url"),
        ({"observed_at": "now"}, "/observed_at"),
        ({"observed_at": 5}, "/observed_at"),
        ({"request": []}, "/request"),
        ({"request": {"path": 7}}, "/request/path"),
        ({"request": {"headers": {"a/b": {}}}}, "/request/headers/a~1b"),
        ({"request": {"cookies": {"a": ["x", []]}}}, "/request/cookies/a/1"),
        ({"fields": {"a": {}}}, "/fields/a"),
        ({"fields": "x"}, "/fields"),
        ({"fields": {"a": "b" * 16_385}}, "/fields/a"),
    ],
)
def test_misplaced_values_are_refused_with_their_place(event: Any, pointer: str) -> None:
    """A dict and bytes are refused alike, and bytes also give the offset."""
    for form in (event, json.dumps(event).encode()):
        with pytest.raises(EventError) as raised:
            encode(form, ["source"], variables=FIELD_MODEL)
        assert raised.value.pointer == pointer
        assert (raised.value.offset is None) == (not isinstance(form, bytes))


@pytest.mark.parametrize(
    "event",
    [
        {"source": "\ud800"},
        {"fields": {"\udfff": "x"}},
        {"fields": dict.fromkeys(map(str, range(257)), "x")},
        {"fields": {"a": float("nan")}},
        {"fields": {1: "a"}},
        {"observed_at": datetime(2026, 3, 2)},
        {"request": {"path": b"/"}},
    ],
    ids=str,
)
def test_dicts_are_held_to_what_bytes_could_say(event: Any) -> None:
    """No surrogates, no NaN, names that are text, moments with an offset."""
    with pytest.raises(EventError):
        encode(event, ["fields"], variables=FIELD_MODEL)


def test_a_long_event_is_refused_unread() -> None:
    """An event of more than 64 KiB, spaces included, is refused unread."""
    encode(b"{}" + b" " * 65_534, [], variables={})
    with pytest.raises(EventError) as raised:
        encode(b" " * 65_537, [], variables={})
    assert raised.value.offset == 65_536


def test_what_the_encoder_does_not_know_is_ignored() -> None:
    """Unknown members of an event are ignored, whatever they hold."""
    event = {"other": object(), "request": {"other": {1}}, "source": None}
    assert encode(event, ["source"], variables=FIELD_MODEL) == {"source": ""}


# --- variables ------------------------------------------------------------------------


def variable(declared: str, event: Any, name: str = "x") -> Any:
    """The value of a declared variable, ``absent`` when the event has none."""
    record = encode(event, [name], variables={name: parse_type(declared)})
    return record.get(name, "absent")


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        ("int", 5, 5),
        ("uint", 5, UInt(5)),
        ("double", 5, 5.0),
        ("dyn", None, None),
        ("int", None, "absent"),
        ("null_type", None, None),
        ("timestamp", "1970-01-01T00:00:01Z", Timestamp(10**9)),
        ("duration", "-1.5s", Duration(-1_500_000_000)),
        ("bytes", "aGk", b"hi"),
        ("net.IP", "::ffff:192.0.2.1", ipaddress.ip_address("192.0.2.1")),
        ("net.CIDR", "10.0.0.1/8", ipaddress.ip_interface("10.0.0.1/8")),
        ("list(uint)", [1, 2], [UInt(1), UInt(2)]),
        ("map(int, bool)", {"-1": True}, Map([(-1, True)])),
        ("map(bool, string)", {"true": "a"}, Map([(True, "a")])),
        ("optional_type(int)", None, OptionalValue()),
        ("optional_type(double)", 1, OptionalValue(1.0)),
    ],
)
def test_variables_are_read_by_their_types(declared: str, given: Any, expected: Any) -> None:
    """JSON writes fewer kinds than there are."""
    for form in ({"x": given}, json.dumps({"x": given}).encode()):
        value = variable(declared, form)
        assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("int", "5"), ("int", 1.0), ("uint", -1), ("bool", 1), ("string", 1), ("timestamp", "now"),
        ("net.IP", "host"), ("bytes", "a"), ("list(int)", ["a"]), ("list(int)", {}),
        ("map(int, int)", {"a": 1}), ("map(bool, int)", {"yes": 1}), ("int", 2**64),
    ],
)  # fmt: skip
def test_variables_of_another_type_are_refused(declared: str, given: Any) -> None:
    """A variable of a wrong type is refused, with the place of its value."""
    for form in ({"x": given}, json.dumps({"x": given}).encode()):
        with pytest.raises(EventError) as raised:
            variable(declared, form)
        assert raised.value.pointer == "/x"


def test_variables_are_found_by_full_name_or_by_path() -> None:
    """A variable is found by its full name first, then by its path."""
    assert variable("int", {"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert variable("int", {"a": {"b": 2}}, "a.b") == 2
    assert variable("int", {"a": {}}, "a.b") == "absent"
    assert variable("int", {"a": 5}, "a.b") == "absent"
    assert variable("string", {"request": {"other": "x"}}, "request.other") == "x"
    with pytest.raises(EventError) as raised:
        variable("int", {"a": {"b": "2"}}, "a.b")
    assert raised.value.pointer == "/a/b"


def test_python_values_come_as_they_are() -> None:
    """A dict can hold values that JSON cannot, and they arrive unchanged."""
    assert variable("dyn", {"x": UInt(1)}) == UInt(1)
    assert variable("map(int, string)", {"x": {1: "a"}}) == Map([(1, "a")])
    assert variable("duration", {"x": Duration(1)}) == Duration(1)
    assert variable("double", {"x": float("inf")}) == float("inf")


def test_a_name_of_the_model_with_another_type_is_a_variable() -> None:
    """The event's member of that name is then only that."""
    assert variable("int", {"source": 5}, "source") == 5


def test_what_the_decision_sets_is_in_no_event() -> None:
    """A name that the decision sets is never read from the event."""
    assert variable("bool", {"actions.login": True}, "actions.login") == "absent"
