"""Spellings of an address: each is a request line and a host."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import attrs

HOST = b"shop.test"
PATHS = (b"/admin", b"/a/b.c")
BYTES = [bytes((code,)) for code in range(256)]
PARTS = (
    *(b"/", b"//", b"\\", b"%2f", b"%2F", b"%5c", b"%252f"),
    *(b".", b"..", b"%2e", b"%2E.", b"..;", b";x=/../", b"#", b"%23", b"?", b"%3f", b"%00"),
    *(b"admin", b"%61dmin", b"ADMIN", b"public"),
)
"""Parts that some reader of an address takes for more than letters."""
LINES = (
    b"GET  /admin HTTP/1.1",
    b"GET /admin  HTTP/1.1",
    b" GET /admin HTTP/1.1",
    b"GET /admin HTTP/1.1 ",
    b"GET\t/admin HTTP/1.1",
    b"GET /admin\tHTTP/1.1",
    b"GET /admin /public HTTP/1.1",
    b"GET /public /admin HTTP/1.1",
    b"GET /admin",
    b"GET /admin HTTP/1.0",
    b"GET /admin HTTP/0.9",
    b"GET /admin HTTP/1.2",
    b"GET /admin http/1.1",
    b"get /admin HTTP/1.1",
    b"\r\nGET /admin HTTP/1.1",
    b"\nGET /admin HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"OPTIONS /admin HTTP/1.1",
    b"CONNECT shop.test:80 HTTP/1.1",
    b"CONNECT /admin HTTP/1.1",
)
ORIGINS = (
    *(b"http://shop.test", b"HTTP://SHOP.test", b"http://shop.test:80", b"http://shop.test."),
    *(b"http://other.test", b"https://shop.test", b"http://u:p@shop.test", b"http://shop.test@o"),
    *(b"ftp://shop.test", b"http:", b"http:/", b"http:///", b"//other.test", b"shop.test"),
    *(b"http://shop.test\\", b"http://[::1]", b"http://shop.test:99999", b"http://%73hop.test"),
)
TARGETS = (b"", b"/", b"?q=1", b"#f", b"/admin", b"/a/../admin", b"//admin", b"/admin#f", b"*")
HOSTS = (
    *(b"", b"SHOP.TEST", b"shop.test.", b"shop.test..", b"shop.test:80", b"shop.test.:80"),
    *(b"shop.test:", b"shop.test:0", b"shop.test:65536", b"shop.test:+80", b"shop..test", b"."),
    *(b".shop.test", b"-shop.test", b"127.0.0.1", b"127.1", b"0x7f000001", b"[::1]", b"[::1]:80"),
    *(b"[::1].", b"[:::1]", b"[v1.a]", b"::1", b"xn--bcher-kva.test", b"b\xc3\xbccher.test"),
    *(b"u@shop.test", b"shop.test/admin", b"shop.test?x", b"shop.test#x", b"shop.test,other.test"),
    *(b"shop.test other.test", b"shop.test\r\nHost: other.test", b" shop.test ", b"shop%2etest"),
)


@attrs.frozen
class Spelling:
    """One way to write a request.

    Attributes:
        line: the request line, without its end.
        host: the value of ``host``.
    """

    line: bytes
    host: bytes = HOST

    def request(self, number: int) -> bytes:
        """The request under a number, by which it is found again."""
        return b"%b\r\nX-Spelling: %d\r\nHost: %b\r\n\r\n" % (self.line, number, self.host)


def spread(count: int) -> Sequence[Spelling]:
    """Some spellings, the same each time: all that are rare in kind, and a part of the others."""
    chosen = random.Random(36)
    rare, usual = list(_whole()), list(_written())
    return [*rare, *chosen.sample(usual, max(0, count - len(rare)))]


def every() -> Sequence[Spelling]:
    """All spellings, more than 20,000."""
    return [*_whole(), *_written()]


def _whole() -> Iterator[Spelling]:
    """Lines, origins and hosts that are written out above."""
    yield from map(Spelling, LINES)
    for origin, target in product(ORIGINS, TARGETS):
        yield Spelling(b"GET %b%b HTTP/1.1" % (origin, target))
    for host in HOSTS:
        yield Spelling(b"GET /admin HTTP/1.1", host)


def _written() -> Iterator[Spelling]:
    """Every byte at every place, and every run of parts."""
    for path in PATHS:
        for form in _forms():
            for place in range(len(path) + 1):
                yield _get(path[:place] + form + path[place:])
                if path is PATHS[0]:
                    yield _get(path[:place] + form + path[place + 1 :])
    for byte in BYTES:
        yield _get(b"/admin?q=a" + byte)
        yield _get(b"/admin?%b=1" % byte)
        for place in range(len(HOST) + 1):
            yield Spelling(b"GET /admin HTTP/1.1", HOST[:place] + byte + HOST[place:])
    for size in (2, 3):
        for parts in product(PARTS, repeat=size):
            yield _get(b"/" + b"".join(parts))


def _forms() -> Iterator[bytes]:
    """Each byte as it is, percent-encoded once and twice."""
    for byte in BYTES:
        yield byte
        yield b"%%%02x" % ord(byte)
        yield b"%%25%02X" % ord(byte)


def _get(target: bytes) -> Spelling:
    return Spelling(b"GET %b HTTP/1.1" % target)
