"""Sends requests over kept connections as fast as asked, and says how many were answered.

``python -m tests.hybrid.load HOST PORT COUNT RATE``
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time

CONNECTIONS = 20
REQUEST = b"GET /page?n=%d HTTP/1.1\r\nhost: site\r\nuser-agent: load/1\r\n\r\n"
PATIENCE = 10.0


def main(host: str, port: int, count: int, rate: int) -> dict[str, float]:
    """Send requests; how many were sent and answered, and how long it took."""
    selector = selectors.DefaultSelector()
    sockets = [socket.create_connection((host, port), 5) for _ in range(CONNECTIONS)]
    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        each.setblocking(False)
        selector.register(each, selectors.EVENT_READ)
    sent = answered = 0
    started = last = time.monotonic()
    while answered < count and time.monotonic() - last < PATIENCE:
        due = min(count, int((time.monotonic() - started) * rate) + 1)
        while sent < due:
            sockets[sent % CONNECTIONS].sendall(REQUEST % sent)
            sent += 1
        for key, _ in selector.select(0.001):
            found = key.fileobj.recv(1 << 16).count(b"HTTP/1.1 ")  # type: ignore[union-attr]
            answered += found
            if found:
                last = time.monotonic()
    seconds = time.monotonic() - started
    return {"sent": sent, "answered": answered, "seconds": round(seconds, 2)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
