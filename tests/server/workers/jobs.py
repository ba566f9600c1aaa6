"""Pieces of work for the tests; a worker process finds them by their names."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tidegate_server.control.app import Application
from tidegate_server.stores.base import StaleRevisionError

_kept: list[bytes] = []


def own_pid(_: Application) -> int:
    """The process that does the work."""
    return os.getpid()


def niceness(_: Application) -> int:
    """The niceness of the worker process."""
    return os.getpriority(os.PRIO_PROCESS, 0)


def hold(directory: Path, name: str, _: Application) -> str:
    """Say that the work has begun, and go on until somebody says that it may end."""
    (directory / f"{name}.begun").touch()
    while not (directory / f"{name}.end").exists():
        time.sleep(0.005)
    return name


def die(_: Application) -> None:
    """End the process in the middle of its work."""
    os.kill(os.getpid(), signal.SIGKILL)


def run_on(_: Application) -> None:
    """Never end."""
    while True:
        time.sleep(0.01)


def take_memory(mebibytes: int, _: Application) -> None:
    """Hold memory until the process is ended."""
    held = bytearray(os.urandom(1024) * 1024 * mebibytes)
    while held:
        time.sleep(0.01)


def fail(_: Application) -> None:
    """Fail with an exception whose arguments are not those of its constructor."""
    raise StaleRevisionError(3, 7)


def evictions(tenant_id: object, application: Application) -> int:
    """Something only the service knows."""
    return application.runtime.evictions(tenant_id)  # type: ignore[arg-type]


def keep(mebibytes: int, _: Application) -> None:
    """Keep memory for later work."""
    _kept.append(os.urandom(1024) * 1024 * mebibytes)
