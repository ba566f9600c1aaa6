"""A hostile sender on the link of a site: requests of made-up senders, as raw frames.

``python -m tests.hybrid.hostile INTERFACE LINK_ADDRESS SITE SECONDS SENDER...``
"""

from __future__ import annotations

import json
import random
import socket
import sys
import time

from tests.capture.packets import damaged, frame

from tidegate_server.capture.frames import ACK, FIN, RST, SYN, Frame

REQUEST = b"GET /made-up HTTP/1.1\r\nHost: site\r\nUser-Agent: made-up\r\n\r\n"
AT_ONCE = 50
PAUSE = 0.02


def frames(chosen: random.Random, sender: str, site: str) -> list[Frame]:
    """Frames that look like a connection with a request, of one kind or another."""
    port, first = chosen.randrange(1_024, 65_536), chosen.randrange(2**32 - 100)
    guess = chosen.randrange(2**32)

    def made(flags: int, payload: bytes = b"", ahead: int = 1) -> Frame:
        number = 0 if flags == SYN else guess
        sequence = first + ahead
        return frame(
            port, sequence, flags, payload, acknowledged=number, client=sender, server=site
        )

    opening = [made(SYN, ahead=0), made(ACK)]
    request = made(ACK, REQUEST)
    return chosen.choice(
        [
            [request] * 15,
            [damaged(request)] * 15,
            [*opening, request, request],
            [made(SYN, REQUEST, ahead=0), request],
            [*opening, damaged(request, 24), request, made(ACK | FIN, ahead=1 + len(REQUEST))],
            [made(SYN | ACK), request, made(RST | ACK)],
        ]
    )


def main(interface: str, link: str, site: str, seconds: float, senders: list[str]) -> int:
    """Send for a time; the number of frames."""
    chosen = random.Random(1)
    target = bytes.fromhex(link.replace(":", ""))
    sent = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link_socket:
        link_socket.bind((interface, 0))
        own = link_socket.getsockname()[4]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(AT_ONCE):
                for each in frames(chosen, chosen.choice(senders), site):
                    link_socket.send(target + own + each.content[12:])
                    sent += 1
            time.sleep(PAUSE)
    return sent


if __name__ == "__main__":
    _, name, link_address, to, time_s, *others = sys.argv
    print(json.dumps({"frames": main(name, link_address, to, float(time_s), others)}))
