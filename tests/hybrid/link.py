"""A link to a service that can be cut, tamper with what it brings, and bring old answers again."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections import deque
from collections.abc import Callable

_KEPT = 8


class Link:
    """A listening address in front of a port of this machine.

    Args:
        port: of the service.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.is_cut = False
        self.truncate = 0
        """Bytes after which an answer is cut off; 0 for never."""
        self.flip: random.Random | None = None
        """Chooses the byte of each answer that is changed; None leaves them."""
        self.replay: Callable[[list[bytes]], bytes] | None = None
        """Chooses which earlier answer comes again in place of a new one; None for none."""
        self._earlier: dict[bytes, deque[bytes]] = {}
        self.replayed = 0
        """Answers that came again."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The address of the service for a daemon."""
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def cut(self) -> None:
        """Close all connections, and stop accepting others."""
        self.is_cut = True
        self.drop()

    def drop(self) -> None:
        """Close all connections."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def heal(self) -> None:
        """Bring everything as it is again."""
        self.is_cut, self.truncate, self.flip, self.replay = False, 0, None, None

    def close(self) -> None:
        """End the link."""
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target), 2)
            except OSError:
                near.close()
                continue
            if self.is_cut:
                near.close()
                far.close()
                continue
            far.settimeout(None)
            self._open += [near, far]
            exchange = _Exchange(self, near, far)
            for carry in (exchange.ask, exchange.answer):
                threading.Thread(target=carry, daemon=True).start()

    def _keep(self, path: bytes, answer: bytes) -> None:
        self._earlier.setdefault(path, deque(maxlen=_KEPT)).append(answer)

    def _again(self, path: bytes) -> bytes | None:
        chosen, earlier = self.replay, self._earlier.get(path)
        if chosen is None or not earlier:
            return None
        self.replayed += 1
        return chosen(list(earlier))


class _Exchange:
    """One connection through a link."""

    def __init__(self, link: Link, near: socket.socket, far: socket.socket) -> None:
        self._link, self._near, self._far = link, near, far
        self._path = b""
        """The path of a request of sync whose answer may be repeated; empty for others."""
        self._answer = b""

    def ask(self) -> None:
        """Bring requests to the service."""
        with contextlib.suppress(OSError):
            while data := self._near.recv(65_536):
                if data.startswith(b"GET /api/v1/sync/"):
                    self._path, self._answer = data[4:].split(b" ")[0].partition(b"?")[0], b""
                    again = self._link._again(self._path)
                    if again is not None:
                        self._near.sendall(again)
                        continue
                elif data.startswith(b"POST "):
                    self._path = b""
                self._far.sendall(data)
        self._end()

    def answer(self) -> None:
        """Bring answers back, as far as the link does."""
        link = self._link
        with contextlib.suppress(OSError):
            while data := self._far.recv(65_536):
                self._remember(data)
                if link.flip is not None:
                    at = link.flip.randrange(len(data))
                    data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
                if link.truncate:
                    self._near.sendall(data[: link.truncate])
                    break
                self._near.sendall(data)
        self._end()

    def _remember(self, data: bytes) -> None:
        """Keep an answer once all of it has come."""
        if not self._path:
            return
        self._answer += data
        head, end, body = self._answer.partition(b"\r\n\r\n")
        name, found, rest = head.lower().partition(b"content-length:")
        del name
        if end and found and len(body) >= int(rest.split(b"\r\n")[0]):
            self._link._keep(self._path, self._answer)

    def _end(self) -> None:
        for each in (self._near, self._far):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
