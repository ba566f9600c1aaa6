"""The parts of the service that engine work in a worker uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tidegate_server.engines.compile_cache import CompileCache
    from tidegate_server.operators.keys import Keys
    from tidegate_server.stores.port import Records


class App(Protocol):
    """A service, as needed by replays and compilations."""

    @property
    def store(self) -> Records: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def known(self) -> CompileCache: ...
    @property
    def clock(self) -> Callable[[], int]: ...
