"""The state of an enforcing capture, in a file of the daemon's folder.

The capture writes it; ``tidegate status`` and the daemon's ``/metrics`` show it.  A file that is no
longer updated belongs to a capture that ended without stopping.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from tidegate_server.daemon import private

if TYPE_CHECKING:
    from tidegate_server.daemon.home import Home

State: TypeAlias = Literal["dropping", "dry-run", "stopped", "failing", "gone"]
STATES: tuple[State, ...] = ("dropping", "dry-run", "stopped", "failing", "gone")
FRESH_SECONDS = 30.0
"""An older file belongs to a capture that is gone."""
_NAME = "capture.json"
_MAX_BYTES = 64 * 1024


class EnforcementStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the enforcement.

    Attributes:
        state: ``dropping``; ``dry-run``; ``stopped``, until the next start; ``failing`` while the
            firewall can't be changed; ``gone`` when the capture ended without stopping.
        reason: why it stopped.
        dropped: addresses dropped now.
        visitors: addresses that visited recently.
        spared: blocked visitors that may not be dropped.
        waiting: blocked visitors not dropped because of a limit, by its setting.
        bounds_reached: how often visitors began to wait, since the start.
        failures: failed changes of the firewall, since the start.
        follows: ``service`` or ``daemon``, whichever responded last; empty before.
    """

    state: State
    reason: str = ""
    dropped: int = 0
    visitors: int = 0
    spared: int = 0
    waiting: dict[str, int] = {}
    bounds_reached: dict[str, int] = {}
    failures: int = 0
    follows: str = ""


class _File(msgspec.Struct):
    at: float
    status: EnforcementStatus


def write(home: Home, status: EnforcementStatus) -> None:
    """Write the current state.

    Raises:
        OSError: it cannot be written.
    """
    content = msgspec.json.encode(_File(time.time(), status))
    private.write(home.cache / _NAME, content)


def remove(home: Home) -> None:
    """Remove the file: the enforcement ended as requested.

    Raises:
        OSError: it cannot be removed.
    """
    (home.cache / _NAME).unlink(missing_ok=True)


def read(home: Home) -> EnforcementStatus | None:
    """The state of the enforcement on this machine; None if it was not started.

    Raises:
        PrivateFileError: the file cannot be trusted.
        OSError: it cannot be read.
    """
    content = private.read(home.cache / _NAME, _MAX_BYTES)
    if content is None:
        return None
    try:
        found = msgspec.json.decode(content, type=_File)
    except (msgspec.DecodeError, ValueError):
        return EnforcementStatus(state="gone")
    if time.time() - found.at < FRESH_SECONDS:
        return found.status
    return msgspec.structs.replace(found.status, state="gone", dropped=0, waiting={})
