"""The plain form of a request: what is recognised, and that the full parser reads it alike."""

from __future__ import annotations

import base64
import re
from typing import Any

import attrs
import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.shared_data import shared_lines

from tidegate_server.connection.framing import body_length
from tidegate_server.connection.protocol import PLAIN
from tidegate_server.hot.admission import JSON
from tidegate_server.hot.hot_path import BEACON, RUNTIME
from tidegate_server.http.headers import given_request_id
from tidegate_server.http.limits import MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADERS
from tidegate_server.http.request import require_media_type

LINE = b"POST %b HTTP/1.1" % RUNTIME.path.encode()
HEADERS = (
    b"host: t",
    b"x-service-api-key: tg_a_b",
    b"content-type: application/json",
    b"content-length: 2",
)
BODY = b"{}"


def request(*headers: bytes, line: bytes = LINE, body: bytes = BODY, end: bytes = b"\r\n") -> bytes:
    """A request of these lines."""
    return end.join([line, *headers, b"", body])


def changed(old: bytes, new: bytes) -> bytes:
    """A plain request with something else in its place."""
    whole = request(*HEADERS)
    assert whole.count(old) == 1
    return whole.replace(old, new)


@attrs.define
class Parsed:
    """The reading of bytes by uvicorn's parser."""

    requests: int = 0
    url: bytes = b""
    headers: list[tuple[bytes, bytes]] = attrs.field(factory=list)
    body: bytes = b""
    method: bytes = b""
    version: str = ""
    keep_alive: bool = False
    upgrade: bool = False
    is_between: bool = True
    _parser: Any = attrs.field(default=None, init=False)

    def read(self, data: bytes) -> None:
        """Give it all to the parser; raises when it isn't HTTP, and when something is open."""
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._parser.feed_data(data)
        assert self.is_between

    def on_message_begin(self) -> None:
        self.is_between = False
        self.url, self.body, self.headers = b"", b"", []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.method = self._parser.get_method()
        self.version = self._parser.get_http_version()
        self.keep_alive = self._parser.should_keep_alive()
        self.upgrade = self._parser.should_upgrade()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.requests += 1
        self.is_between = True

    def values(self, name: bytes) -> list[bytes]:
        return [value for each, value in self.headers if each == name]


def require_agreement(data: bytes) -> bool:
    """Whether data is plain; then the full parser reads one request of the same parts."""
    call = PLAIN.read(data)
    if call is None:
        return False
    endpoint, key, request_id, traceparent, body = call
    full = Parsed()
    full.read(data)
    assert (full.requests, full.method, full.version) == (1, b"POST", "1.1"), data
    assert (full.url, full.body) == (endpoint.path.encode(), body), data
    assert full.values(b"x-service-api-key") == [key], data
    assert given_request_id(full.headers) == (request_id and request_id.decode()), data
    assert full.values(b"traceparent") == ([] if traceparent is None else [traceparent]), data
    assert full.values(b"content-length") == [b"%d" % len(body)], data
    assert require_media_type(full.headers, (JSON,)) == JSON, data
    said = body_length(full.method, full.version, full.url, full.headers)
    assert said == len(body), data
    for name in (b"transfer-encoding", b"content-encoding", b"expect", b"upgrade"):
        assert not full.values(name), data
    assert full.keep_alive, data
    assert not full.upgrade, data
    assert len(body) <= MAX_BODY_BYTES
    assert len(full.headers) <= MAX_HEADERS
    assert len(data) - len(body) <= MAX_HEADER_BYTES
    return True


def test_a_plain_request_is_read_into_its_parts() -> None:
    """A plain request gives its endpoint, credential, request id, trace and body."""
    assert PLAIN.read(request(*HEADERS)) == (RUNTIME, b"tg_a_b", None, None, BODY)
    beacon = LINE.replace(RUNTIME.path.encode(), BEACON.path.encode())
    identified = request(*HEADERS, b"X-Request-Id: a-1", b"Traceparent: 00-t", line=beacon)
    assert PLAIN.read(identified) == (BEACON, b"tg_a_b", b"a-1", b"00-t", BODY)


@pytest.mark.parametrize("byte", [bytes([byte]) for byte in range(0x21, 0x7F)])
def test_an_id_of_the_caller_is_one_in_both_forms(byte: bytes) -> None:
    """The plain form and the full parser keep the same ids, character by character."""
    taken = PLAIN.read(request(*HEADERS, b"x-request-id: " + byte))
    kept = given_request_id([(b"x-request-id", byte)])
    assert (taken[2] if taken else None) == (kept and kept.encode())


@pytest.mark.parametrize(
    "data",
    [
        request(*(header.replace(b":", b": ", 1) for header in HEADERS)),
        request(*(header.replace(b": ", b":", 1) for header in HEADERS)),
        request(*(header.title().replace(b"Tg_A_B", b"tg_a_b") for header in HEADERS[:2]),
                *HEADERS[2:]),
        request(*HEADERS, b"Connection: Keep-Alive"),
        request(*HEADERS, b"user-agent: x", b"accept: */*", b"accept-encoding: gzip, deflate"),
        changed(b"length: 2", b"length: 0").removesuffix(BODY),
        request(*HEADERS[:3], b"content-length: 65536", body=b" " * 65_536),
    ],
)  # fmt: skip
def test_what_clients_write_is_plain(data: bytes) -> None:
    """The case of names, space after a colon, other headers and any body up to the limit."""
    assert require_agreement(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        request(*HEADERS)[:-1],
        request(*HEADERS) + b"x",
        request(*HEADERS) * 2,
        b"\r\n" + request(*HEADERS),
        request(*HEADERS, end=b"\n"),
        changed(b"host: t\r\n", b"host: t\n"),
        changed(b"host: t\r\n", b"host: t \r\n"),
        changed(b"host: t\r\n", b""),
        changed(b"host: t\r\n", b"host: t\r\nhost: t\r\n"),
        changed(b"host: t", b"host: \xff"),
        changed(b"host: t", b"host : t"),
        changed(b"host: t", b"host: t\r\n folded"),
        changed(b"host: t", b"host:\tt"),
        changed(b"POST", b"GET"),
        changed(b"POST", b"post"),
        changed(b"POST ", b"POST  "),
        changed(b"HTTP/1.1", b"HTTP/1.0"),
        changed(b"mitigation ", b"mitigation? "),
        changed(b"mitigation ", b"mitigation/ "),
        changed(b"/api", b"http://t/api"),
        changed(b"/runtime", b"/%72untime"),
        changed(b"application/json", b"application/json; charset=utf-8"),
        changed(b"application/json", b"text/plain"),
        changed(b"length: 2", b"length: 02"),
        changed(b"length: 2", b"length: +2"),
        changed(b"length: 2", b"length: 2, 2"),
        changed(b"length: 2", b"length: 0x2"),
        changed(b"length: 2", b"length: "),
        changed(b"length: 2", b"length: 99999999999999999999"),
        changed(b"content-length: 2\r\n", b""),
        changed(b"content-length: 2", b"content-length: 2\r\ncontent-length: 2"),
        changed(b"x-service-api-key: tg_a_b\r\n", b""),
        request(*HEADERS, b"x-service-api-key: tg_a_b"),
        request(*HEADERS, b"content-type: application/json"),
        request(*HEADERS, b"x-request-id: a", b"x-request-id: a"),
        request(*HEADERS, b"traceparent: a", b"traceparent: a"),
        request(*HEADERS, b"x-request-id: a b"),
        request(*HEADERS, b"x-request-id:"),
        request(*HEADERS, b"x-request-id: " + b"a" * 129),
        request(*HEADERS, b"Transfer-Encoding: chunked"),
        request(*HEADERS, b"transfer-encoding: identity"),
        request(*HEADERS, b"Connection: close"),
        request(*HEADERS, b"connection: keep-alive, upgrade"),
        request(*HEADERS, b"proxy-connection: close"),
        request(*HEADERS, b"upgrade: h2c"),
        request(*HEADERS, b"Expect: 100-continue"),
        request(*HEADERS, b"content-encoding: identity"),
        request(*HEADERS, *(b"x: y" for _ in range(29))),
        request(*HEADERS, b"x: " + b"y" * MAX_HEADER_BYTES),
        request(*HEADERS[:3], b"content-length: 65537", body=b" " * 65_537),
    ],
)
def test_whatever_is_unusual_is_not_plain(data: bytes) -> None:
    """More or less than one request, another way to write it, or anything said about framing."""
    assert PLAIN.read(data) is None


NAMES = st.sampled_from(
    [b"x", b"accept", b"x-y", b"host", b"Host", b"x-service-api-key", b"content-type",
     b"content-length", b"Content-Length", b"transfer-encoding", b"Transfer-Encoding ",
     b"connection", b"expect", b"upgrade", b"x-request-id", b"traceparent", b"proxy-connection",
     b"keep-alive",
     b"te", b"x_y", b"", b" x", b"x:y"]
)  # fmt: skip
VALUES = st.sampled_from(
    [b"t", b"a b", b"a;q=1", b"2", b"3", b"02", b"+2", b"2 ", b" 2", b"\t2", b"chunked", b"close",
     b"keep-alive", b"Keep-Alive", b"upgrade", b"100-continue", b"application/json", b"", b"a,b",
     b"a\rb", b"\x00", b"\x7f", b"\xff", b"a\r\n b"]
)  # fmt: skip
LINES = st.builds(bytes.__add__, NAMES, st.builds(b": ".__add__, VALUES)) | st.sampled_from(HEADERS)
EDITS = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.integers(0, 2),
        st.sampled_from([b"", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b",", b"\x00", b"\x0b",
                         b"\x7f", b"\x80", b"0", b"2", b"a", b"A", b"{}", b"\r\n\r\n"]),
    ),
    max_size=2,
)  # fmt: skip


@given(headers=st.lists(LINES, max_size=3), order=st.permutations(HEADERS), edits=EDITS)
@settings(max_examples=500, deadline=None)
def test_the_full_parser_reads_a_plain_request_alike(
    headers: list[bytes], order: list[bytes], edits: list[tuple[int, int, bytes]]
) -> None:
    """The full parser reads every plain request as the same single request."""
    data = request(*order, *headers)
    for place, length, new in edits:
        data = data[:place] + new + data[place + length :]
    require_agreement(data)


def test_no_byte_makes_a_difference() -> None:
    """Every byte of a plain request as every other, one more before it, and one or two less."""
    whole = request(*HEADERS, b"connection: keep-alive", b"x-request-id: a-1", b"x: y")
    taken = 0
    for place in range(len(whole)):
        before, after = whole[:place], whole[place:]
        taken += require_agreement(before + after[1:]) + require_agreement(before + after[2:])
        for byte in range(256):
            taken += require_agreement(before + bytes([byte]) + after[1:])
            taken += require_agreement(before + bytes([byte]) + after)
    assert taken > len(whole)


@given(value=st.binary(max_size=20), header=st.sampled_from((*HEADERS, b"x: y")))
@settings(max_examples=500, deadline=None)
def test_no_value_is_read_in_two_ways(value: bytes, header: bytes) -> None:
    """Any bytes as the value of a header that counts, or of one that does not."""
    name = header.partition(b":")[0]
    others = [each for each in HEADERS if each != header]
    require_agreement(request(*others, name + b": " + value))


def test_hostile_requests_are_read_in_one_way() -> None:
    """Two published sets, as they are and with their headers in a plain request."""
    folder = "data/adversarial/http"
    hostile = [
        each["raw"].encode("latin-1") for each in shared_lines(f"{folder}/raw_hostile.jsonl")
    ]
    hostile += [
        base64.b64decode(each["raw_b64"])
        for each in shared_lines(f"{folder}/llhttp_requests.jsonl")
    ]
    for raw in hostile:
        raw = raw.replace(b"{P}", RUNTIME.path.encode()).replace(b"{K}", b"tg_a_b")
        require_agreement(raw)
        head, _, body = raw.partition(b"\r\n\r\n")
        _, *lines = head.split(b"\r\n")
        named = {re.split(rb"[:\s]", each)[0].lower() for each in lines}
        missing = [each for each in HEADERS if each.partition(b":")[0] not in named]
        require_agreement(request(*lines, *missing, body=body))
        for header in lines:
            require_agreement(request(*HEADERS, header))


def test_hostile_values_are_read_in_one_way() -> None:
    """The values of the tests of structured fields, in every header that counts."""
    taken = 0
    for each in shared_lines("data/adversarial/http/structured_fields.jsonl"):
        for value in each["raw"]:
            line = b": " + value.encode("latin-1", "replace")
            for header in (*HEADERS, b"x-request-id: a", b"traceparent: a", b"x: y"):
                name = header.partition(b":")[0]
                others = [other for other in HEADERS if other != header]
                taken += require_agreement(request(*others, name + line))
    assert taken
