"""Address databases: what opens, what is refused, and what happens when a file is replaced."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.address_databases import COUNTRIES, NETWORKS, write

from tidegate.definitions import load_compiled
from tidegate.errors import SettingsError
from tidegate.evaluation.native import AddressDatabase, AddressDatabases, NativeEngine
from tidegate.policy.definitions.bundle import bundle
from tidegate_server.geo.databases import GeoDatabases

DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "tenant": {"name": "Shop", "tenant_id": "018f0000-0000-7000-8000-000000000001"},
    "settings": {"trusted_proxies": ["10.0.0.0/8"]},
}


def engine() -> NativeEngine:
    return NativeEngine(bundle(load_compiled(DEFINITIONS).compiled))


def located(databases: GeoDatabases, event: object) -> object:
    """The place of an event's client after the look-up."""
    assert databases.current is not None
    body = event if isinstance(event, bytes) else orjson.dumps(event)
    return orjson.loads(engine().located(body, databases.current)).get("geo")


def of(address: str) -> dict[str, object]:
    return {"request": {"client_ip": address}}


@pytest.fixture
def countries(tmp_path: Path) -> Path:
    return write(tmp_path / "country.mmdb")


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    return write(tmp_path / "asn.mmdb", NETWORKS, kind="GeoLite2-ASN")


def test_databases_are_asked_in_order(countries: Path, networks: Path) -> None:
    """Country and network come from different files, and are stated together."""
    databases = GeoDatabases.open(f"{countries}, {networks}")
    assert databases.fields == {"derived.country", "derived.asn", "derived.as_org"}
    assert located(databases, of("192.0.2.7")) == {
        "country": "NL", "asn": 64_496, "as_org": 'Example "One"',
    }  # fmt: skip
    assert located(databases, of("2001:db8::7")) == {"country": "BE", "asn": 4_200_000_001}
    assert located(databases, of("198.51.100.7")) == {"country": "DE"}


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "127.0.0.1", "169.254.1.1", "100.64.0.1", "::1", "fe80::1", "fd00::1"]
)
def test_a_private_address_gives_nothing(countries: Path, address: str) -> None:
    """An event from a private address is recorded as it was sent."""
    assert located(GeoDatabases.open(str(countries)), of(address)) is None


def test_the_client_is_the_one_that_rules_see(countries: Path) -> None:
    """It may be in a header behind trusted proxies; without an address nothing is looked up."""
    databases = GeoDatabases.open(str(countries))
    chain = {"request": {"headers": {"X-Forwarded-For": "192.0.2.7, 10.1.2.3"}}}
    assert located(databases, chain) == {"country": "NL"}
    for event in ({}, {"request": {}}, of("unknown"), {"request": {"headers": {}}}):
        assert located(databases, event) is None


def test_an_event_that_states_the_place_keeps_it(countries: Path) -> None:
    """A source may know better; this includes a member that is empty or null."""
    databases = GeoDatabases.open(str(countries))
    for stated in ({"country": "DE"}, {}, None):
        assert located(databases, {**of("192.0.2.7"), "geo": stated}) == stated
    escaped = b'{"\\u0067eo":{"country":"DE"},"request":{"client_ip":"192.0.2.7"}}'
    assert located(databases, escaped) == {"country": "DE"}


def test_all_else_of_an_event_stays_as_it_was_sent(countries: Path) -> None:
    """The finding is the first member, and no other byte changes."""
    body = b' {"request" : {"client_ip":"192.0.2.7", "path":"/\\u00e9"}, "x":1e400}'
    current = GeoDatabases.open(str(countries)).current
    assert current is not None
    assert engine().located(body, current) == body.replace(b"{", b'{"geo":{"country":"NL"},', 1)


def test_an_event_at_its_limits_is_still_decided(countries: Path) -> None:
    """An event that has no room for another member, or for more bytes, isn't changed."""
    databases = GeoDatabases.open(str(countries))
    many = of("192.0.2.7") | {f"m{number}": 1 for number in range(254)}
    assert located(databases, many) == {"country": "NL"}
    assert located(databases, many | {"last": 1}) is None
    long = of("192.0.2.7") | {f"m{number}": "x" * 16_000 for number in range(4)}
    assert located(databases, long) == {"country": "NL"}
    room = 65_536 - len(orjson.dumps(long | {"last": ""}))
    assert located(databases, long | {"last": "x" * room}) is None


def test_a_database_of_ipv4_knows_nothing_of_ipv6(tmp_path: Path) -> None:
    """Asked for an IPv6 address it has no answer, which isn't a broken entry."""
    ipv4 = {network: entry for network, entry in COUNTRIES.items() if "." in network}
    path = write(tmp_path / "four.mmdb", ipv4, version=4)
    databases = GeoDatabases.open(str(path))
    assert located(databases, of("192.0.2.7")) == {"country": "NL"}
    assert located(databases, of("::ffff:192.0.2.7")) == {"country": "NL"}
    assert located(databases, of("2001:db8::7")) is None
    assert "tidegate_geo_broken_entries_total 0.0" in page(databases)


def damaged(content: bytes, how: str) -> bytes:
    match how:
        case "empty":
            return b""
        case "text":
            return b"not a database\n" * 100
        case "truncated":
            return content[: len(content) // 2]
        case "without its end":
            return content[:-20]
        case "other bytes":
            at = len(content) // 3
            return content[:at] + b"\xff" * 40 + content[at + 40 :]
    raise AssertionError(how)


DAMAGES = ["empty", "text", "truncated", "without its end", "other bytes"]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_refuses_the_start(countries: Path, how: str) -> None:
    """The error names the setting and the file, and says that it isn't a database."""
    countries.write_bytes(damaged(countries.read_bytes(), how))
    with pytest.raises(SettingsError, match="not an address database") as raised:
        GeoDatabases.open(str(countries))
    assert "`geo.databases`" in str(raised.value)
    assert raised.value.value == str(countries)


def test_a_file_that_can_t_be_read_refuses_the_start(tmp_path: Path) -> None:
    """The error says why: it isn't there, or it is a folder."""
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SettingsError, match=f"it cannot be read: {reason}"):
            GeoDatabases.open(str(path))


@pytest.mark.parametrize("entries", [{"192.0.2.0/24": {"connection_type": "Cellular"}}, {}])
def test_a_database_of_something_else_refuses_the_start(
    tmp_path: Path, entries: dict[str, object]
) -> None:
    """Without countries and autonomous systems it would be of no use, silently."""
    path = write(tmp_path / "other.mmdb", entries, kind="GeoIP2-Connection-Type")
    with pytest.raises(SettingsError, match=r"neither countries nor .*Connection"):
        GeoDatabases.open(str(path))


def test_a_replaced_file_is_read_again(countries: Path) -> None:
    """The next look finds it, and the state names its new type."""
    databases = GeoDatabases.open(str(countries))
    before = databases.current
    databases.look()
    assert databases.current is before
    write(countries, {"192.0.2.0/24": {"country": {"iso_code": "FR"}}}, kind="Other-Country")
    databases.look()
    assert located(databases, of("192.0.2.7")) == {"country": "FR"}
    (state,) = databases.state()
    assert (state.name, state.kind, state.problem) == ("country.mmdb", "Other-Country", "")
    assert "tidegate_geo_database_reloads_total 1.0" in page(databases)


@pytest.mark.parametrize("how", [*DAMAGES, "gone"])
def test_the_last_sound_database_stays_in_use(countries: Path, how: str) -> None:
    """State and figures say that the file can't be used; a sound one ends that."""
    databases = GeoDatabases.open(str(countries))
    if how == "gone":
        countries.unlink()
    else:
        countries.write_bytes(damaged(countries.read_bytes(), how))
    databases.look()
    assert located(databases, of("192.0.2.7")) == {"country": "NL"}
    assert databases.state()[0].problem
    assert 'tidegate_geo_database_usable{database="country.mmdb"} 0.0' in page(databases)
    write(countries)
    databases.look()
    assert databases.state()[0].problem == ""
    assert 'tidegate_geo_database_usable{database="country.mmdb"} 1.0' in page(databases)


def test_entries_that_can_t_be_used_are_counted(tmp_path: Path) -> None:
    """A country that isn't text isn't an answer; the event is decided, and the figure says so."""
    entries = {**COUNTRIES, "203.0.113.0/24": {"country": {"iso_code": 5}}}
    databases = GeoDatabases.open(str(write(tmp_path / "odd.mmdb", entries)))
    before = broken(databases)
    assert located(databases, of("203.0.113.7")) is None
    assert broken(databases) == before + 1


@pytest.mark.parametrize("entry", [{"country": {"iso_code": "nl"}}, {"country": {"iso_code": ""}}])
def test_a_country_of_another_form_is_no_answer(tmp_path: Path, entry: dict[str, object]) -> None:
    """The field has two capitals or is empty, so findings about comparisons stay true."""
    path = write(tmp_path / "odd.mmdb", {**COUNTRIES, "203.0.113.0/24": entry})
    assert located(GeoDatabases.open(str(path)), of("203.0.113.7")) is None


def test_no_database_looks_up_nothing() -> None:
    """Without the setting there is nothing to ask, and no figure."""
    databases = GeoDatabases.open(" , ")
    assert databases.current is None
    assert databases.fields == frozenset()
    assert page(databases) == ""


@pytest.mark.parametrize("seed", range(40))
def test_no_bytes_make_it_panic(countries: Path, seed: int) -> None:
    """A file with changed bytes is refused or used, in bounded time, whatever they are."""
    choices = random.Random(seed)
    content = bytearray(countries.read_bytes())
    for _ in range(choices.randrange(1, 8)):
        content[choices.randrange(len(content))] = choices.randrange(256)
    try:
        database = AddressDatabase(bytes(content))
    except ValueError:
        return
    databases = AddressDatabases([database])
    for address in ("192.0.2.7", "2001:db8::7", "255.255.255.255"):
        engine().located(orjson.dumps(of(address)), databases)


def broken(databases: GeoDatabases) -> float:
    line = next(
        each for each in page(databases).splitlines() if each.startswith("tidegate_geo_broken")
    )
    return float(line.rpartition(" ")[2])


def page(databases: GeoDatabases) -> str:
    registry = CollectorRegistry()

    class Figures:
        def collect(self) -> object:
            return databases.figures()

    registry.register(Figures())  # type: ignore[arg-type]
    return generate_latest(registry).decode()
