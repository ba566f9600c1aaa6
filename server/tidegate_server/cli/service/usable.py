"""Checks before the start that the settings' files, addresses and providers can be used."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from tidegate.errors import SettingsError
from tidegate_server.alerts.sending import mail_server
from tidegate_server.cli.service.cover import need_cover, need_tls
from tidegate_server.cli.service.settings import unusable
from tidegate_server.geo.databases import GeoDatabases
from tidegate_server.operators.providers import read_providers
from tidegate_server.publishing.destinations import destination_of
from tidegate_server.settings.outbound import TelemetrySettings
from tidegate_server.stores.rows.dialects import is_postgresql
from tidegate_server.telemetry.exporting import need_otlp, read_headers

if TYPE_CHECKING:
    from tidegate_server.settings.outbound import AlertsSettings, PublishSettings
    from tidegate_server.settings.service import GeoSettings
    from tidegate_server.settings.whole import Settings


def need_usable(settings: Settings) -> None:
    """Check everything a server needs.

    Raises:
        SettingsError: something cannot be used.
    """
    need_tls(settings.server)
    need_cover(settings.server)
    need_providers(settings)
    need_destination(settings.publish)
    need_mail_server(settings.alerts)
    need_telemetry(settings.telemetry)
    need_databases(settings.geo)
    need_directory(settings)
    need_database(settings)
    need_node(settings)


def need_database(settings: Settings) -> None:
    """Check that the database's address is valid and fits the other settings.

    Raises:
        SettingsError: it cannot be used.
    """
    if not settings.store.url:
        if settings.store.partitions > 1:
            reason = "on SQLite there are as many as `server.workers`; several need `store.url`"
            raise unusable("store.partitions", settings.store.partitions, reason)
        return
    if not is_postgresql(settings.store.url):
        reason = "it is no address of PostgreSQL; write `postgresql://user@host/name`"
        raise unusable("store.url", None, reason)
    if settings.server.workers > 1:
        reason = "server workers share a directory of SQLite; over PostgreSQL start several nodes"
        raise unusable("server.workers", settings.server.workers, reason)
    if settings.store.durability == "relaxed":
        reason = "with `store.url` another machine may take over, and would not know the answers"
        raise unusable("store.durability", settings.store.durability, reason)


def need_node(settings: Settings) -> None:
    """Check that a node has a database that others can share.

    Raises:
        SettingsError: it doesn't.
    """
    if settings.node.name and not settings.store.url:
        reason = "nodes share a database of PostgreSQL; set `store.url`"
        raise unusable("node.name", settings.node.name, reason)


def need_providers(settings: Settings) -> None:
    """Check that identity providers can be used and the files with their secrets can be read.

    Raises:
        SettingsError: they cannot.
    """
    try:
        read_providers(settings.login.providers)
    except ValueError as error:
        raise unusable("login.providers", None, str(error)) from None


def need_destination(publish: PublishSettings) -> None:
    """Check that decisions can be delivered to the configured destination.

    Raises:
        SettingsError: they can't be.
    """
    if not publish.url:
        return
    try:
        destination_of(publish.url, publish.secret, publish.subject, lambda: 0)
    except ValueError as error:
        raise unusable("publish.url", None, str(error)) from None


def need_mail_server(alerts: AlertsSettings) -> None:
    """Check that the mail server for alerts can be used.

    Raises:
        SettingsError: it can't be.
    """
    try:
        mail_server(alerts.smtp_url, alerts.mail_from)
    except ValueError as error:
        raise unusable("alerts.smtp_url", None, str(error)) from None


def need_telemetry(telemetry: TelemetrySettings) -> None:
    """Check that telemetry can be sent, as far as its form tells.

    Raises:
        SettingsError: it can't be.
    """
    try:
        read_headers(telemetry.otlp_headers)
    except ValueError as error:
        raise unusable("telemetry.otlp_headers", None, str(error)) from None
    if telemetry.otlp_endpoint:
        try:
            need_otlp()
        except ValueError as error:
            raise unusable("telemetry.otlp_endpoint", telemetry.otlp_endpoint, str(error)) from None
        return
    for name, is_set in (
        ("telemetry.otlp_headers", bool(telemetry.otlp_headers)),
        ("telemetry.sample_ratio", telemetry.sample_ratio != TelemetrySettings().sample_ratio),
    ):
        if is_set:
            raise unusable(name, None, "nothing is sent without `telemetry.otlp_endpoint`")


def need_databases(geo: GeoSettings) -> None:
    """Check that the address databases can be used.

    Raises:
        SettingsError: one can't be.
    """
    try:
        GeoDatabases.open(geo.databases)
    except SettingsError as error:
        raise unusable("geo.databases", error.value, error.reason) from None


def need_directory(settings: Settings) -> None:
    """Create the data directory if it is missing, and check that it can be written.

    Raises:
        SettingsError: it can't be.
    """
    directory = settings.directory
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"the directory cannot be made: {error.strerror}"
        raise unusable("store.directory", settings.store.directory, reason) from None
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        reason = f"the directory cannot be written: {error.strerror}"
        raise unusable("store.directory", settings.store.directory, reason) from None
