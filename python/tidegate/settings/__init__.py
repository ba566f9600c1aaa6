"""Settings, declared once.

Each setting has one name and three spellings: ``store.url`` in the file, ``TIDEGATE_STORE_URL`` in
the environment, ``--store-url`` on the command line.  A flag overrides the environment, the
environment the file, the file the default.

The classes are in several files because, before Python 3.13, the library that turns them into flags
parses the whole file of each class at the start of every command.
"""

from tidegate.settings.checking import check_value, fields_of
from tidegate.settings.environment import home, variable_of
from tidegate.settings.hybrid import CaptureSettings, DaemonSettings
from tidegate.settings.operators import TokenSettings
from tidegate.settings.outbound import PublishSettings, RemoteSettings
from tidegate.settings.service import LogSettings, ServerSettings, WorkersSettings
from tidegate.settings.sources import load_settings, loaders, remote_loaders, where_read
from tidegate.settings.store import StoreSettings
from tidegate.settings.whole import Settings

__all__ = [
    "CaptureSettings",
    "DaemonSettings",
    "LogSettings",
    "PublishSettings",
    "RemoteSettings",
    "ServerSettings",
    "Settings",
    "StoreSettings",
    "TokenSettings",
    "WorkersSettings",
    "check_value",
    "fields_of",
    "home",
    "load_settings",
    "loaders",
    "remote_loaders",
    "variable_of",
    "where_read",
]
