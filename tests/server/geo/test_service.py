"""The whole service with address databases: decisions, records, findings, figures, replacement."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from tests.address_databases import COUNTRIES, NETWORKS, write
from tests.server.deciding import Deciding, Service, deciding, made
from tests.waiting import wait_until

DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 0}],
    "policies": [
        {
            "name": "Countries",
            "expression": 'derived.country == "DE" || derived.asn == 64497',
            "clauses": [{"name": "any", "mitigation": "refuse"}],
        }
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the databases."""
    return tmp_path_factory.mktemp("geo")


@pytest.fixture(scope="module")
def located(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, process: None
) -> Iterator[Service]:
    """A service with a database of countries and one of networks."""
    paths = [write(folder / "country.mmdb"), write(folder / "asn.mmdb", NETWORKS, kind="ASN")]
    databases = ",".join(map(str, paths))
    with deciding(tmp_path_factory.mktemp("located"), geo_databases=databases) as service:
        yield service


@pytest.fixture
def shop(located: Service) -> Deciding:
    """A new tenant that blocks a country."""
    return located.tenant(DEFINITIONS)


def test_a_decision_knows_the_country_and_records_it(shop: Deciding) -> None:
    """The record has the finding, and is explained and shown by it."""
    assert shop.decide(address="192.0.2.7")["action"]["type"] == "allow"
    blocked = shop.decide(address="198.51.100.7")
    assert blocked["action"]["type"] == "block"
    path = f"decisions/{blocked['decision_id']}"
    assert shop.get(path)["event"]["geo"] == {"country": "DE"}
    explained = shop.get(f"{path}/explain")
    assert "DE" in orjson.dumps(explained["trace"]).decode()


def test_a_source_may_state_the_place(shop: Deciding) -> None:
    """A stated place counts, whatever the databases know; one of another form is refused."""
    assert shop.decide(address="192.0.2.7", geo={"asn": 64_497})["action"]["type"] == "block"
    assert shop.decide(address="198.51.100.7", geo={"country": "FR"})["action"]["type"] == "allow"
    answer = shop.service.http.post(
        "/api/v1/runtime/mitigation",
        json={"request": {"path": "/"}, "geo": {"country": "Germany"}},
        headers={"x-service-api-key": shop.key},
    )
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/geo/country"


def test_a_repeated_call_gets_its_answer_again(shop: Deciding) -> None:
    """A finding says nothing about a call: the same body has the same fingerprint."""
    key = {"idempotency_key": "once"}
    first = shop.decide(address="198.51.100.7", **key)
    assert shop.decide(address="198.51.100.7", **key) == first
    assert shop.decide(address="198.51.100.7", geo={"country": "FR"}, **key) == first


def test_a_simulation_asks_the_databases(shop: Deciding) -> None:
    """An event that an operator types is located as a real one is."""
    policy = shop.ids("policies")["countries"]
    event = {"event": {"request": {"client_ip": "198.51.100.7"}}}
    found = made(shop.by("Analyst").post(f"{shop.path}/policies/{policy}/simulate", event))
    assert found["decision"]["action"]["type"] == "block"


def test_no_finding_says_that_the_fields_are_empty(shop: Deciding) -> None:
    """Neither writes nor the field catalog speak of an absent database."""
    saved = shop.get("definitions/findings")
    codes = [each["code"] for found in saved for each in found["warnings"]]
    assert "field-always-empty" not in codes
    fields = {each["name"]: each["description"] for each in shop.get("field-catalog", limit=100)}
    assert not [name for name, text in fields.items() if "no address database" in text]


def test_a_replaced_database_counts_without_a_restart(shop: Deciding, folder: Path) -> None:
    """The age is in the status; a damaged file leaves the content before in use, and says so."""

    def state() -> dict[str, object]:
        found: dict[str, object] = shop.get("status")["address_databases"][0]
        return found

    path = folder / "country.mmdb"
    assert state()["name"] == "country.mmdb"
    assert str(state()["built_at"]).startswith("20")
    try:
        write(path, {"192.0.2.0/24": {"country": {"iso_code": "DE"}}})
        wait_until(lambda: shop.decide(address="192.0.2.7")["action"]["type"] == "block")
        path.write_bytes(b"damaged")
        wait_until(lambda: state()["problem"])
        assert "not an address database" in str(state()["problem"])
        assert shop.decide(address="192.0.2.7")["action"]["type"] == "block"
        page = shop.service.http.get("/metrics").text
        assert 'tidegate_geo_database_usable{database="country.mmdb"} 0.0' in page
    finally:
        write(path, COUNTRIES)
    wait_until(lambda: state()["problem"] is None)


def test_a_database_that_can_t_be_read_refuses_the_start(tmp_path: Path, process: None) -> None:
    """The server ends with the setting, its source and the reason."""
    path = tmp_path / "none.mmdb"
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", "serve"],
        env={**os.environ, "HOME": str(tmp_path), "TIDEGATE_GEO_DATABASES": str(path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"error: `geo.databases` is `{path}` (from TIDEGATE_GEO_DATABASES): "
        "it cannot be read: No such file or directory\n"
    )
