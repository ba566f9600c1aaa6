"""The tests that define what a store keeps of alerts, and what alerts read of other objects."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import pytest
from tests.store_contract.challenges import bought, run, session
from tests.store_contract.examples import (
    OTHER_TENANT,
    SECOND_NS,
    START_NS,
    TENANT,
    StorePlaces,
    numbered,
    tenant,
)

from tidegate_server.stores.alerts import alerts
from tidegate_server.stores.alerts.alerts import Alert, AlertMessage
from tidegate_server.stores.base import ConflictError, NotFoundError
from tidegate_server.stores.objects import challenges, daemons, tenants
from tidegate_server.stores.objects.daemons import Daemon
from tidegate_server.stores.port import Store

MINUTE_NS = 60 * SECOND_NS


def alert(number: int, **members: Any) -> Alert:
    """An alert; the number is in its id."""
    made = Alert(
        alert_id=numbered(number),
        tenant_id=TENANT,
        name=f"Alert {number}",
        body={"metric": "blocks"},
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )
    return attrs.evolve(made, **members)


def message(number: int, **members: Any) -> AlertMessage:
    """A message; the number is in its id, and its time."""
    made = AlertMessage(
        message_id=numbered(number),
        tenant_id=TENANT,
        destination={"kind": "slack", "to": "https://example.com/"},
        body={"alerts": []},
        created_at_ns=START_NS + number,
        next_at_ns=0,
    )
    return attrs.evolve(made, **members)


class AlertContract(StorePlaces):
    """Alerts, their states and their messages."""

    @pytest.fixture
    def alerting(self, store: Store) -> Store:
        """A store with two tenants, in two partitions, and an alert."""
        run(store, tenants.create, tenant())
        other = attrs.evolve(tenant(OTHER_TENANT, "Other"), partition_id=1)
        run(store, tenants.create, other)
        run(store, alerts.create, alert(1))
        return store

    def test_an_alert_is_found_and_changed(self, alerting: Store) -> None:
        """A change has the next revision, and another tenant doesn't find the alert."""
        key = (TENANT, numbered(1))
        changed: dict[str, Any] = {"name": "Renamed", "body": {"metric": "challenges"}}
        change = partial(alerts.change, **changed)
        assert run(alerting, change, *key, START_NS + 1) == 2
        with alerting.read() as connection:
            found = alerts.find(connection, *key)
            assert (found.name, found.body, found.revision) == ("Renamed", changed["body"], 2)
            assert alerts.number(connection, TENANT) == 1
            with pytest.raises(NotFoundError):
                alerts.find(connection, OTHER_TENANT, numbered(1))

    def test_a_name_is_unique_in_a_tenant(self, alerting: Store) -> None:
        """Another tenant may use the same name."""
        with pytest.raises(ConflictError):
            run(alerting, alerts.create, alert(2, name="Alert 1"))
        other = alert(2, name="Alert 1", tenant_id=OTHER_TENANT)
        run(alerting, alerts.create, other)
        with alerting.read() as connection:
            assert alerts.of_partition(connection, 0) == [alert(1)]
            assert alerts.of_partition(connection, 1) == [other]
            assert set(alerts.tenants_of(connection, [other])) == {OTHER_TENANT}
            assert alerts.page(connection, TENANT, 10) == [alert(1)]
            assert alerts.page(connection, TENANT, 10, numbered(1)) == []

    def test_a_state_is_no_new_revision(self, alerting: Store) -> None:
        """A state is stored with its alert, and one of an alert that is gone is ignored."""
        for number in (1, 2):
            run(alerting, alerts.put_state, numbered(number), {"since": 5})
        with alerting.read() as connection:
            assert alerts.of_partition(connection, 0) == [alert(1, state={"since": 5})]

    def test_a_message_stays_until_it_is_removed(self, alerting: Store) -> None:
        """An attempt changes it, and messages are read in order."""
        for each in (message(2), message(1), message(3)):
            run(alerting, alerts.put_message, each)
        tried = message(2, attempts=1, next_at_ns=9, error="503")
        run(alerting, alerts.put_message, tried)
        run(alerting, alerts.remove_message, numbered(3))
        run(alerting, alerts.remove_message, numbered(3))
        with alerting.read() as connection:
            assert alerts.messages_of(connection, TENANT) == [message(1), tried]
            assert alerts.messages_of_partition(connection, 0) == [message(1), tried]
            assert alerts.messages_of_partition(connection, 1) == []

    def test_dropped_messages_are_counted(self, alerting: Store) -> None:
        """Only alerts of the tenant are counted."""
        for each in (TENANT, OTHER_TENANT):
            run(alerting, alerts.count_dropped, each, [numbered(1), numbered(9)])
        with alerting.read() as connection:
            assert alerts.find(connection, TENANT, numbered(1)).dropped == 1

    def test_a_tenant_takes_its_alerts_along(self, alerting: Store) -> None:
        """A deleted tenant has neither alerts nor messages, and gets no new ones."""
        run(alerting, alerts.put_message, message(1))
        run(alerting, alerts.remove, TENANT, numbered(1))
        run(alerting, alerts.create, alert(2))
        run(alerting, tenants.delete, TENANT)
        with alerting.read() as connection:
            assert alerts.page(connection, TENANT, 10) == []
            assert alerts.messages_of(connection, TENANT) == []
        with pytest.raises(NotFoundError):
            run(alerting, alerts.put_message, message(1))

    def test_challenges_are_counted_by_minute(self, alerting: Store) -> None:
        """A challenge counts when it is opened and when it is solved, in a span of time."""
        minute = START_NS // MINUTE_NS
        for number, at in ((1, START_NS), (2, START_NS + 1), (3, START_NS + MINUTE_NS)):
            opened = session(number, opened_at_ns=at)
            run(alerting, challenges.open_session, opened)
        solved = bought(1, 1, issued_at_ns=START_NS + 2 * MINUTE_NS)
        run(alerting, challenges.burn, solved)
        with alerting.read() as connection:
            whole = challenges.by_minute(connection, TENANT, START_NS, START_NS + 3 * MINUTE_NS)
            late = challenges.by_minute(
                connection, TENANT, START_NS + MINUTE_NS, START_NS + 3 * MINUTE_NS
            )
        assert whole == ({minute: 2, minute + 1: 1}, {minute + 2: 1})
        assert late == ({minute + 1: 1}, {minute + 2: 1})

    def test_the_longest_silent_daemon_is_found(self, alerting: Store) -> None:
        """Daemons that were last seen before a time don't count."""
        for number, seen in ((1, 10), (2, 500), (3, 700)):
            daemon = Daemon(
                tenant_id=TENANT,
                daemon_id=numbered(number),
                name="shop",
                version="1",
                mode="online",
                sequence=1,
                definitions_revision=1,
                is_equal=True,
                behind=0,
                spooled=0,
                dropped=0,
                first_seen_at_ns=0,
                last_seen_at_ns=seen,
            )
            run(alerting, daemons.put, daemon)
        with alerting.read() as connection:
            assert daemons.longest_silent(connection, TENANT, 100) == 500
            assert daemons.longest_silent(connection, TENANT, 1_000) is None
            assert daemons.longest_silent(connection, OTHER_TENANT, 0) is None
