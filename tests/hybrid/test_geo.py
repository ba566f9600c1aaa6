"""A daemon with address databases of its own, behind a service without."""

from __future__ import annotations

from pathlib import Path

from tests.address_databases import write
from tests.hybrid.running import Service, daemon, wait_for


def test_a_daemon_states_the_country_in_what_it_forwards(origin: Service, tmp_path: Path) -> None:
    """The service has no database, and records, filters and explains by the daemon's finding."""
    path = write(tmp_path / "country.mmdb")
    (tmp_path / "site").mkdir()
    with daemon(origin, tmp_path / "site", TIDEGATE_GEO_DATABASES=str(path)) as (site, _):
        decision = site.decide("/located", "198.51.100.7")
        wait_for(lambda: origin.decisions("/located"))
        recorded = origin.call("GET", f"/decisions/{decision['decision_id']}")
        assert recorded["event"]["geo"] == {"country": "DE"}
        assert origin.call("GET", f"/decisions/{decision['decision_id']}/explain")
        (database,) = site.status()["address_databases"]
        assert (database["name"], database["problem"]) == ("country.mmdb", "")
