"""Make the parts of alerts that the settings ask for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate.functions.addresses import parse_range
from tidegate_server.alerts.samples import Samples
from tidegate_server.alerts.sending import Sender, mail_server
from tidegate_server.alerts.watcher import Watcher
from tidegate_server.control.app import Alerting
from tidegate_server.settings.bounds import split_list

if TYPE_CHECKING:
    from tidegate_server.control.runtime import LiveRuntime
    from tidegate_server.operators.keys import Keys
    from tidegate_server.settings.whole import Settings
    from tidegate_server.stores.port import Store


def alerting_of(settings: Settings) -> Alerting:
    """Return what alerts can do with these settings."""
    return Alerting(
        is_on=settings.alerts.enabled,
        publishes=bool(settings.publish.url),
        mails=bool(settings.alerts.smtp_url),
    )


def watcher_of(
    settings: Settings, store: Store, keys: Keys, live: LiveRuntime, base_url: Callable[[], str]
) -> Watcher | None:
    """Return what evaluates alerts; None if the settings turn that off.

    Args:
        settings: of the process.
        store: of the partition that this process owns.
        keys: derive the keys that sign messages.
        live: the recorder and the publisher.
        base_url: returns the address that browsers reach the service by.

    Raises:
        ValueError: the mail server can't be used.
    """
    of_alerts = settings.alerts
    if not of_alerts.enabled:
        return None
    mail = mail_server(of_alerts.smtp_url, of_alerts.mail_from)
    allowed = [parse_range(each) for each in split_list(of_alerts.allow_networks)]
    sender = Sender(keys, time.time_ns, mail, [each for each in allowed if each])
    return Watcher(store, sender, Samples(live, store), base_url, time.time_ns(), live.alerts)
