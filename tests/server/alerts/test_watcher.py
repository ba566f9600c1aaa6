"""Alerts over a store and a receiver, in a time that the test hands in."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from tests.publisher import Posted, Publisher, publishing
from tests.store_contract.examples import (
    OTHER_TENANT,
    SECOND_NS,
    START_NS,
    TENANT,
    done,
    entry,
    numbered,
    tenant,
)

from tidegate_server.alerts.outbox import KEPT_SECONDS, LONGEST_PAUSE
from tidegate_server.alerts.rule import KINDS, Metric
from tidegate_server.alerts.sending import Sender
from tidegate_server.alerts.watcher import Watcher
from tidegate_server.operators.keys import Keys
from tidegate_server.stores.alerts import alerts
from tidegate_server.stores.alerts.alerts import Alert
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.objects import daemons, tenants
from tidegate_server.stores.objects.daemons import Daemon
from tidegate_server.stores.sqlite import SqliteStore

MINUTE_NS = 60 * SECOND_NS
KEYS = Keys(**{each.name: bytes(32) for each in attrs.fields(Keys)})


@attrs.define
class Scene:
    """A store, a receiver, and a watcher that is started anew when a test says so."""

    store: SqliteStore
    receiver: Publisher
    now: int = START_NS
    sampled: dict[str, float] = attrs.field(factory=dict)
    counts: Counter[str] = attrs.field(factory=Counter)
    number: int = 0
    watcher: Watcher = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Go on with what is stored."""
        allowed = [ip_interface("127.0.0.1/32")]
        sender = Sender(KEYS, lambda: self.now, None, allowed, self.receiver.tls)
        self.watcher = Watcher(
            self.store, sender, self._sampled, lambda: "https://waf.test", START_NS, self.counts
        )

    def _sampled(self, _: int) -> Mapping[str, float]:
        return self.sampled

    def url(self, path: str = "/alerts") -> str:
        return self.receiver.url(path, "127.0.0.1")

    def alert(self, metric: Metric, number: int = 1, **members: Any) -> Alert:
        """A new alert, which sends to the receiver."""
        condition = attrs.asdict(KINDS[metric].default) | {"times_usual": None, "threshold": 2}
        body = {
            "enabled": True,
            "quiet_minutes": 60,
            "destinations": [{"kind": "webhook", "to": self.url()}],
            **condition,
            **members,
        }
        made = Alert(
            alert_id=numbered(number),
            tenant_id=TENANT,
            name=f"Alert {number}",
            body=body,
            created_at_ns=START_NS,
            updated_at_ns=START_NS,
        )
        done(self.store.write(lambda connection: alerts.create(connection, made)))
        return made

    def decide(self, action: str, count: int, **members: Any) -> None:
        """Decisions in the present minute."""
        for _ in range(count):
            self.number += 1
            at = self.now + self.number
            made = entry(self.number, action=action, received_at_ns=at, **members)
            done(self.store.append([made]))

    def minute(self, minutes: int = 1) -> None:
        """Let minutes end, one after the other, and evaluate and deliver after each."""
        for _ in range(minutes):
            self.now += MINUTE_NS
            asyncio.run(self._turn())

    async def _turn(self) -> None:
        at = self.now + 4 * SECOND_NS
        await self.watcher.evaluate(at)
        for tenant_id in self.watcher.due(at):
            await self.watcher.deliver(tenant_id, lambda: at)

    def taken(self) -> list[Posted]:
        """The messages that the receiver took."""
        return [each for each in self.receiver.taken if each.status == 204]

    def told(self) -> list[tuple[str, str]]:
        """Name and state of the alerts in these messages."""
        bodies = [orjson.loads(each.body)["data"] for each in self.taken()]
        return [(each["name"], each["state"]) for body in bodies for each in body["alerts"]]

    def stored(self, alert: Alert) -> Alert:
        with self.store.read() as connection:
            return alerts.find(connection, TENANT, alert.alert_id)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A store with two tenants."""
    url = f"sqlite:///{tmp_path / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    done(store.write(lambda connection: tenants.create(connection, tenant())))
    other = tenant(OTHER_TENANT, "Other")
    done(store.write(lambda connection: tenants.create(connection, other)))
    with publishing(tmp_path) as receiver:
        yield Scene(store, receiver)
    store.close()


def test_a_receiver_that_was_down_for_an_hour_gets_each_alert_once(scene: Scene) -> None:
    """Attempts have the same id, over a restart too, and one of them is taken."""
    scene.alert("blocks", quiet_minutes=0)
    scene.alert("rule_errors", 2)
    scene.receiver.statuses["/alerts"] = 503
    scene.decide("block", 5)
    scene.minute()
    scene.minute(20)
    scene.restart()
    scene.decide("allow", 5, errors=("",))
    scene.minute(39)
    assert scene.taken() == []
    scene.receiver.statuses.clear()
    scene.minute(LONGEST_PAUSE // 60 + 1)
    scene.restart()
    scene.minute(10)
    assert scene.told() == [
        ("Alert 1", "firing"),
        ("Alert 1", "resolved"),
        ("Alert 2", "firing"),
        ("Alert 2", "resolved"),
    ]
    ids = [each.headers["webhook-id"] for each in scene.receiver.taken]
    assert len(ids) > 15
    assert set(ids) == {each.headers["webhook-id"] for each in scene.taken()}
    with scene.store.read() as connection:
        assert alerts.messages_of(connection, TENANT) == []


def test_a_restart_repeats_no_alert(scene: Scene) -> None:
    """A firing alert goes on firing, and its end is told by the next process."""
    scene.alert("blocks")
    scene.decide("block", 5)
    scene.minute()
    for _ in range(7):
        scene.restart()
        scene.minute()
    assert scene.told() == [("Alert 1", "firing"), ("Alert 1", "resolved")]


def test_a_pause_is_caught_up_with(scene: Scene) -> None:
    """Minutes that ended while no process ran are evaluated by the next one."""
    scene.alert("blocks", over_minutes=1)
    scene.minute()
    scene.decide("block", 5)
    scene.now += 3 * MINUTE_NS
    scene.restart()
    scene.minute()
    assert scene.told() == [("Alert 1", "firing")]


def test_alerts_that_change_together_are_one_message(scene: Scene) -> None:
    """A receiver gets one message about two alerts, and another receiver its own."""
    other = {"kind": "webhook", "to": scene.url("/other")}
    scene.alert("blocks")
    scene.alert("rule_errors", 2, destinations=[{"kind": "webhook", "to": scene.url()}, other])
    scene.decide("block", 5, errors=("",))
    scene.minute()
    told = {each.path: orjson.loads(each.body)["data"]["alerts"] for each in scene.taken()}
    assert {path: len(each) for path, each in told.items()} == {"/alerts": 2, "/other": 1}


def test_a_message_nobody_takes_for_a_day_is_dropped_and_counted(scene: Scene) -> None:
    """The alert says how many messages were lost, and why."""
    alert = scene.alert("blocks", quiet_minutes=2_000)
    scene.receiver.statuses["/alerts"] = 500
    scene.decide("block", 5)
    scene.minute()
    with scene.store.read() as connection:
        (waiting,) = alerts.messages_of(connection, TENANT)
    assert waiting.error == "the receiver answers 500"
    scene.now += KEPT_SECONDS * SECOND_NS
    scene.minute()
    assert scene.stored(alert).dropped == 1
    assert scene.counts["dropped"] == 1


def test_a_redirect_is_not_followed(scene: Scene) -> None:
    """A receiver can't send a message on to a place that isn't checked."""
    scene.alert("blocks")
    scene.receiver.statuses["/alerts"] = 302
    scene.decide("block", 5)
    scene.minute()
    assert [each.path for each in scene.receiver.taken] == ["/alerts"]
    assert scene.counts["failed"] == 1


def test_an_address_that_is_not_public_is_refused(scene: Scene) -> None:
    """Without a setting for it, no message goes to loopback."""
    scene.watcher = Watcher(
        scene.store,
        Sender(KEYS, lambda: scene.now, tls=scene.receiver.tls),
        lambda _: {},
        lambda: "",
        START_NS,
        scene.counts,
    )
    scene.alert("blocks")
    scene.decide("block", 5)
    scene.minute()
    with scene.store.read() as connection:
        (waiting,) = alerts.messages_of(connection, TENANT)
    assert "isn't public" in waiting.error
    assert scene.receiver.taken == []


def test_a_message_to_a_receiver_that_is_removed_is_not_sent(scene: Scene) -> None:
    """After a mistake in an address is mended, nobody waits for the wrong one."""
    alert = scene.alert("blocks")
    scene.receiver.statuses["/alerts"] = 500
    scene.decide("block", 5)
    scene.minute()
    body = {**alert.body, "destinations": []}
    done(
        scene.store.write(lambda c: alerts.change(c, TENANT, alert.alert_id, scene.now, body=body))
    )
    scene.minute(2)
    assert len(scene.receiver.taken) == 1
    with scene.store.read() as connection:
        assert alerts.messages_of(connection, TENANT) == []


def test_an_alert_is_sent_while_the_store_cannot_be_written(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message that the log isn't written doesn't wait for the log."""
    alert = scene.alert("log_unwritten", threshold=30)
    scene.minute()

    def refuse(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the disk is full")

    scene.sampled["log_unwritten"] = 55.0
    with monkeypatch.context() as full:
        full.setattr(scene.store, "write", refuse)
        scene.minute(3)
        assert scene.told() == [("Alert 1", "firing")]
    scene.sampled["log_unwritten"] = 0.0
    scene.minute(8)
    assert scene.told() == [("Alert 1", "firing"), ("Alert 1", "resolved")]
    state = scene.stored(alert).state
    assert state is not None
    assert state["since"] is None


def test_a_fault_in_sending_is_an_attempt(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that the service can't send waits like one that nobody takes."""

    async def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    scene.alert("blocks")
    scene.decide("block", 5)
    with monkeypatch.context() as broken:
        broken.setattr(Sender, "send", fail)
        scene.minute()
    with scene.store.read() as connection:
        (waiting,) = alerts.messages_of(connection, TENANT)
    assert (waiting.attempts, waiting.error) == (1, "the service failed; its log says why")
    scene.minute()
    assert scene.told() == [("Alert 1", "firing")]


def test_a_daemon_that_is_silent_fires(scene: Scene) -> None:
    """One that reported a day ago is taken for gone, and a start of the service isn't silence."""
    scene.alert("daemon_silence", threshold=50)
    scene.now += 10 * MINUTE_NS
    for number, age in ((1, -30), (2, 100_000)):
        reported(scene, number, scene.now - age * SECOND_NS)
    scene.minute()
    assert scene.told() == []
    scene.minute()
    assert scene.told() == [("Alert 1", "firing")]
    reported(scene, 1, scene.now + MINUTE_NS)
    scene.minute()
    scene.now += 5 * MINUTE_NS
    reported(scene, 1, scene.now)
    scene.minute()
    assert scene.told()[-1] == ("Alert 1", "firing")


def reported(scene: Scene, number: int, at_ns: int) -> None:
    """A daemon's report."""
    daemon = Daemon(
        tenant_id=TENANT,
        daemon_id=numbered(number),
        name=f"shop-{number}",
        version="1",
        mode="online",
        sequence=1,
        definitions_revision=1,
        is_equal=True,
        behind=0,
        spooled=0,
        dropped=0,
        first_seen_at_ns=START_NS,
        last_seen_at_ns=at_ns,
    )
    done(scene.store.write(lambda connection: daemons.put(connection, daemon)))


def test_the_alerts_of_a_tenant_see_its_own_decisions(scene: Scene) -> None:
    """Blocks of another tenant don't count."""
    scene.alert("blocks")
    scene.decide("block", 5, tenant_id=OTHER_TENANT)
    scene.minute(2)
    assert scene.told() == []
