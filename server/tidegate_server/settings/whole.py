"""All settings together."""

from __future__ import annotations

from pathlib import Path

import typed_settings as ts

from tidegate_server.settings.environment import DEFAULT_DIRECTORY, home
from tidegate_server.settings.hybrid import CaptureSettings, DaemonSettings
from tidegate_server.settings.operators import LoginSettings, TokenSettings
from tidegate_server.settings.outbound import (
    AlertsSettings,
    ChallengeSettings,
    ListsSettings,
    PublishSettings,
    RemoteSettings,
    TelemetrySettings,
)
from tidegate_server.settings.service import (
    CatalogSettings,
    ConsoleSettings,
    GeoSettings,
    LogSettings,
    MetricsSettings,
    ServerSettings,
    WorkersSettings,
)
from tidegate_server.settings.store import NodeSettings, StoreSettings


@ts.settings
class DaemonProcessSettings:
    """The settings of a daemon's process (``tidegate run``)."""

    daemon: DaemonSettings = DaemonSettings()
    remote: RemoteSettings = RemoteSettings()
    log: LogSettings = LogSettings()
    geo: GeoSettings = GeoSettings()


@ts.settings
class Settings:
    """Everything that can be set."""

    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    node: NodeSettings = NodeSettings()
    catalog: CatalogSettings = CatalogSettings()
    log: LogSettings = LogSettings()
    token: TokenSettings = TokenSettings()
    login: LoginSettings = LoginSettings()
    metrics: MetricsSettings = MetricsSettings()
    publish: PublishSettings = PublishSettings()
    lists: ListsSettings = ListsSettings()
    geo: GeoSettings = GeoSettings()
    alerts: AlertsSettings = AlertsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    challenge: ChallengeSettings = ChallengeSettings()
    workers: WorkersSettings = WorkersSettings()
    console: ConsoleSettings = ConsoleSettings()
    remote: RemoteSettings = RemoteSettings()
    daemon: DaemonSettings = DaemonSettings()
    capture: CaptureSettings = CaptureSettings()

    @property
    def directory(self) -> Path:
        """The data directory of the server."""
        if self.store.directory == DEFAULT_DIRECTORY:
            return home()
        return Path(self.store.directory).expanduser()

    @property
    def database_url(self) -> str:
        """The database, in the data directory or elsewhere."""
        return self.store.url or f"sqlite:///{self.directory / 'tidegate.db'}"
