"""An event loop on its own thread, for code without one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from tidegate.client.errors import ClientClosedError

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for other threads; starts with the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_started(self) -> bool:
        """Whether a thread was started."""
        return self._thread is not None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for its result.

        Raises:
            ClientClosedError: the thread was stopped before there was a result.
            RuntimeError: called on the loop's own thread, where it would wait for itself.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a callback of the client must not wait for the client")
        with self._lock:
            if self._is_stopped:
                work.close()
                raise ClientClosedError("the client is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except CancelledError:
            raise ClientClosedError("the client was closed during the call") from None
        except BaseException:
            # Ctrl-C ends the wait, and nobody needs the result then.
            future.cancel()
            raise

    def stop(self) -> None:
        """Cancel running tasks, and end the thread."""
        with self._lock:
            self._is_stopped = True
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="tidegate-client", daemon=True
            )
            self._thread.start()
        return self._loop


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
