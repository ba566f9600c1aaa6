"""A daemon and a service, each in a process of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from uuid import uuid4

import pytest
from tests.hybrid.link import Link
from tests.hybrid.running import Daemon, Service, daemon, wait_for
from tools import plain_http


@pytest.fixture(scope="module")
def pair(
    origin: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Daemon, Link]]:
    """A daemon that follows it."""
    settings = {
        "TIDEGATE_DAEMON_OFFLINE_SECONDS": "3600",
        "TIDEGATE_DAEMON_RETRY_SECONDS": "1",
    }
    with daemon(origin, tmp_path_factory.mktemp("site"), **settings) as made:
        yield made


def level(origin: Service, site: Daemon, revision: int) -> None:
    """Return when the site decides by a revision at least, and has on disk what the service sent:
    a kill before would leave it with what it had."""
    sent = origin.sync("GET", "/snapshot").json()["sequence"]

    def is_level() -> bool:
        status = site.status()
        return bool(status["revision"] >= revision and status["sequence"] >= sent)

    wait_for(is_level)


def newest(origin: Service) -> int:
    """The revision that the service has now; what daemons are sent comes a moment later."""
    revision: int = origin.call("GET", "/definitions")["revision"]
    return revision


def test_an_ordinary_key_reads_no_definitions(origin: Service) -> None:
    """A call with a key without the permission is refused, and so is one without a key."""
    url = f"{origin.said['base_url']}/api/v1/sync/snapshot"
    refused = plain_http.get(url, headers={"x-service-api-key": origin.said["api_key"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "sync-not-permitted")
    assert plain_http.get(url).status_code == 401


def test_a_change_takes_effect_and_a_window_at_the_site_blocks(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """The third request at the site is refused there, and the service has the same decisions."""
    site, _ = pair
    origin.make_policy("Site window", "/site-window", 3)
    level(origin, site, newest(origin))
    answers = [site.decide("/site-window", "198.51.100.1") for _ in range(4)]
    assert [each["action"]["type"] for each in answers] == ["allow", "allow", "block", "block"]
    wait_for(lambda: not site.status()["spooled"])
    recorded = origin.decisions("/site-window")
    assert {each["decision_id"] for each in recorded} == {each["decision_id"] for each in answers}
    whole = origin.call("GET", f"/decisions/{answers[2]['decision_id']}")
    assert whole["daemon"]["daemon_id"] == site.status()["daemon_id"]
    assert whole["revision"] == site.status()["revision"]
    assert origin.decide({"request": {"path": "/x", "client_ip": "198.51.100.1"}})["reason"] == (
        "active-mitigation"
    )


def test_a_window_over_both_counts_each_event_once(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """Two requests at the site and one at the service reach a window of three."""
    site, _ = pair
    origin.make_policy("Both", "/both", 3)
    level(origin, site, newest(origin))
    for _ in range(2):
        assert site.decide("/both", "198.51.100.2")["action"]["type"] == "allow"
    wait_for(lambda: not site.status()["spooled"])
    event = {"request": {"path": "/both", "client_ip": "198.51.100.2"}}
    assert origin.decide(event)["action"]["type"] == "block"
    wait_for(lambda: site.decide("/x", "198.51.100.2")["action"]["type"] == "block")


def test_a_lifted_mitigation_is_lifted_at_the_site(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """An operator lifts a mitigation, and the site lets the visitor in again."""
    site, _ = pair
    origin.make_policy("Lifted", "/lifted", 1)
    level(origin, site, newest(origin))
    origin.decide({"request": {"path": "/lifted", "client_ip": "198.51.100.3"}})
    wait_for(lambda: site.decide("/x", "198.51.100.3")["action"]["type"] == "block")
    for each in origin.call("GET", "/active-mitigations?limit=500"):
        if each["key"] == ["198.51.100.3"]:
            origin.call("DELETE", f"/active-mitigations/{each['entity_id']}")
    wait_for(lambda: site.decide("/x", "198.51.100.3")["action"]["type"] == "allow")


def test_an_idempotency_key_gets_its_answer_again(pair: tuple[Daemon, Link]) -> None:
    """Under one key and one body there is one decision, also across a kill."""
    site, _ = pair
    key = str(uuid4())
    first = site.decide("/key", "198.51.100.4", idempotency_key=key)
    assert site.decide("/key", "198.51.100.4", idempotency_key=key) == first
    site.stop(signal.SIGKILL)
    site.start()
    assert site.decide("/key", "198.51.100.4", idempotency_key=key) == first


def test_a_site_starts_and_decides_without_its_service(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """After a kill, with the link cut, windows and definitions go on; all is forwarded later."""
    site, link = pair
    origin.make_policy("Alone", "/alone", 3)
    level(origin, site, newest(origin))
    answers = [site.decide("/alone", "198.51.100.5") for _ in range(2)]
    link.cut()
    try:
        site.stop(signal.SIGKILL)
        site.start()
        answers.append(site.decide("/alone", "198.51.100.5"))
    finally:
        link.heal()
    assert answers[-1]["action"]["type"] == "block"
    wait_for(lambda: not site.status()["spooled"])
    recorded = [each["decision_id"] for each in origin.decisions("/alone")]
    assert sorted(recorded) == sorted(each["decision_id"] for each in answers)


def test_earlier_answers_that_come_again_are_not_taken(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """Nor after a restart meanwhile: what was known is saved also while a snapshot is needed."""
    site, link = pair
    origin.make_policy("Before", "/before", 1, ttl=0)
    level(origin, site, newest(origin))
    site.stop()
    site.start()
    link.drop()
    origin.make_policy("After", "/after", 1, ttl=0)
    known = newest(origin)
    level(origin, site, known)
    link.replay = itemgetter(0)
    replayed = link.replayed
    link.drop()
    wait_for(lambda: link.replayed >= replayed + 4 and not site.status()["sequence"])
    site.stop()
    site.start()
    replayed = link.replayed
    wait_for(lambda: link.replayed >= replayed + 2)
    status = site.status()
    link.heal()
    assert status["revision"] == known
    assert site.decide("/after", "198.51.100.6")["action"]["type"] == "block"
    wait_for(
        lambda: site.status()["sequence"] == origin.sync("GET", "/snapshot").json()["sequence"]
    )


def test_a_batch_that_comes_again_adds_nothing(origin: Service) -> None:
    """Numbers of a spool that are recorded are passed over, and each spool has its own."""
    line = {
        "decision_id": str(uuid4()),
        "source": None,
        "endpoint": "runtime",
        "revision": 1,
        "duration_us": 5,
        "answer": {"action": {"type": "allow"}, "reason": "no-match"},
        "record": {
            "action": {"type": "allow"},
            "reason": "no-match",
            "policy": None,
            "clause": None,
            "mitigation": None,
            "entities": [],
            "matched_actions": [],
            "fired": [],
            "errors": {},
        },
        "effects": [],
        "event": {"request": {"path": "/again"}},
    }
    index = [
        str(uuid4()), line["decision_id"], 1, None, None, None, 1_700_000_000_000_000_000,
        "allow", "no-match", None, "/again", "", [], [],
    ]  # fmt: skip
    event = {"number": 1, "line": line, "index": index}
    batch = {"daemon_id": str(uuid4()), "spool_id": str(uuid4()), "events": [event]}
    for recorded in (1, 0):
        answer = origin.sync("POST", "/events", json=batch)
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"acknowledged": 1, "recorded": recorded, "refused": []}
    bad = {**batch, "events": [{**event, "number": 2, "line": {**line, "effects": [[1]]}}]}
    answer = origin.sync("POST", "/events", json=bad).json()
    assert (answer["acknowledged"], answer["recorded"]) == (2, 0)
    assert answer["refused"][0]["number"] == 2


def test_the_service_knows_its_daemons(origin: Service, pair: tuple[Daemon, Link]) -> None:
    """Each daemon is listed with what it holds and whether that is equal."""
    site, _ = pair
    status = site.status()

    def found() -> bool:
        known = {each["daemon_id"]: each for each in origin.call("GET", "/daemons")}
        mine = known.get(status["daemon_id"])
        return bool(mine and mine["is_equal"] and mine["revision"] == site.status()["revision"])

    wait_for(found)


def test_sync_brings_one_kind(pair: tuple[Daemon, Link], tmp_path: Path) -> None:
    """``tidegate sync`` is refused nothing and writes under ``data/``."""
    del tmp_path
    site, _ = pair
    for kind in ("actions", "entities", "policies", "mitigations"):
        assert (site.folder / "data" / f"{kind}.json").stat().st_mode & 0o777 == 0o600


def test_an_answer_that_comes_again_is_no_contact(pair: tuple[Daemon, Link]) -> None:
    """The same good answer, again and again, doesn't pass for a service that is there."""
    site, link = pair
    wait_for(lambda: site.status()["sequence"] and site.status()["contact_seconds"] >= 0)
    link.replay = itemgetter(-1)
    link.drop()
    replayed = link.replayed
    wait_for(lambda: link.replayed >= replayed + 2)
    before, replayed = site.status()["contact_seconds"], link.replayed
    wait_for(lambda: link.replayed >= replayed + 4)
    assert site.status()["contact_seconds"] > before
    link.heal()
    wait_for(lambda: site.status()["contact_seconds"] < before)


def test_every_file_of_a_site_is_for_its_owner_alone(pair: tuple[Daemon, Link]) -> None:
    """Keys, spool, definitions, state and log: 0600 in folders of 0700."""
    site, _ = pair
    site.decide("/files", "198.51.100.1")
    modes = {
        str(each.relative_to(site.folder)): each.stat().st_mode & 0o777
        for each in site.folder.rglob("*")
    }
    assert {"credentials.xml", "data/spool.db", "logs/daemon.log"} <= modes.keys()
    for name, mode in modes.items():
        assert mode == (0o700 if (site.folder / name).is_dir() else 0o600), name
