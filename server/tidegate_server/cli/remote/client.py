"""The flags of commands that call a running service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tidegate_server.cli.service.settings import flags_of
from tidegate_server.settings.outbound import RemoteSettings
from tidegate_server.settings.sources import remote_loaders

F = TypeVar("F", bound=Callable[..., Any])


def remote_options(command: F) -> F:
    """Give a command the flags that select the service, passed as ``remote``."""
    return flags_of(RemoteSettings, remote_loaders(), "remote")(command)
