"""From frames to requests, in whatever order and pieces they come."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from tests.capture.packets import answer, damaged, frame, handshake, packet

from tidegate_server.capture import streams as streams_module
from tidegate_server.capture.frames import ACK, FIN, RST, SYN, Direction, Frame, read_frame
from tidegate_server.capture.streams import MAX_PAIRS, QUERY_CUT, Streams, request_event

REQUEST = (
    b"GET /a?x=1 HTTP/1.1\r\nHost: shop\r\nUser-Agent: browser\r\nCookie: a=b; c=d\r\n\r\n"
    b"POST /b HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n\r\nabc"
)
AGAIN = b"GET /again HTTP/1.1\r\nHost: a\r\n\r\n"


def requests(streams: Streams, frames: Iterable[Frame]) -> list[dict[str, Any]]:
    segments = [read_frame(each) for each in frames]
    return [one["request"] for each in segments if each for one in streams.add(each)]


def connection(seed: int) -> list[Frame]:
    """Two requests in pieces, some out of order, some twice, across the end of the numbers."""
    chosen = random.Random(seed)
    first = (2**32 - chosen.randrange(200)) % 2**32
    pieces, at = [], 0
    while at < len(REQUEST):
        size = chosen.randint(1, 60)
        pieces.append(frame(1, (first + 1 + at) % 2**32, ACK, REQUEST[at : at + size]))
        at += size
    pieces += chosen.choices(pieces, k=2)
    tail = pieces[1:]
    chosen.shuffle(tail)
    # The server acknowledges some of it on the way, and everything at the end.
    middle = answer(1, first + 1 + chosen.randrange(len(tail[0].content) - 54))
    end = answer(1, first + 1 + len(REQUEST))
    return [*handshake(1, first), pieces[0], *tail, middle, end]


def test_requests_are_read_in_any_pieces_and_order() -> None:
    """Both requests of a connection are found once, with their members."""
    for seed in range(200):
        found = requests(Streams([80]), connection(seed))
        assert [(each["method"], each["path"]) for each in found] == [("GET", "/a"), ("POST", "/b")]
        assert found[0]["client_ip"] == "192.0.2.7"
        assert found[0]["query_params"] == {"x": ["1"]}
        assert found[0]["cookies"] == {"a": ["b"], "c": ["d"]}


def test_an_event_has_every_value() -> None:
    """Parameters and cookies have all their values, and an absolute address is read as one."""
    headers = [("host", "other"), ("cookie", "f=1; g=2; f=../x")]
    request = request_event("GET", b"http://shop/a?f=ok&f=../x", headers, "192.0.2.7")["request"]
    assert (request["scheme"], request["host"], request["path"]) == ("http", "shop", "/a")
    assert request["query"] == "f=ok&f=../x"
    assert request["query_params"] == {"f": ["ok", "../x"]}
    assert request["cookies"] == {"f": ["1", "../x"], "g": ["2"]}


def test_too_many_parameters_are_cut_in_the_middle_with_a_mark() -> None:
    """The last parameters of many are kept, and the event says that some were left out."""
    url = b"/?" + b"&".join([b"f=%d" % number for number in range(MAX_PAIRS + 1)])
    event = request_event("GET", url, [], "192.0.2.7")
    values = event["request"]["query_params"]["f"]
    assert (len(values), values[0], values[-1]) == (MAX_PAIRS, "0", str(MAX_PAIRS))
    assert event["fields"] == {QUERY_CUT: True}
    assert "fields" not in request_event("GET", url.rpartition(b"&")[0], [], "192.0.2.7")


def test_a_connection_of_ipv6_is_read() -> None:
    """Addresses and checksums of IPv6 are those of its own header."""
    client = "2001:db8::7"
    opened = [_as_ipv6(each) for each in handshake(3, 10)]
    sent = [_as_ipv6(frame(3, 11, ACK, AGAIN)), _as_ipv6(answer(3, 11 + len(AGAIN)))]
    (found,) = requests(Streams([80]), [*opened, *sent])
    assert found["client_ip"] == client
    assert requests(Streams([80]), [*opened, damaged(sent[0]), sent[1]]) == []


def _as_ipv6(of: Frame) -> Frame:
    segment = read_frame(of)
    assert segment is not None
    ends = [("2001:db8::7", segment.source_port), ("2001:db8::1", segment.destination_port)]
    if of.direction is Direction.OUTGOING:
        ends = [("2001:db8::1", segment.source_port), ("2001:db8::7", segment.destination_port)]
    made = packet(
        *ends, segment.sequence, segment.acknowledged, segment.flags, segment.payload
    )  # fmt: skip
    return Frame(made, of.direction)


@pytest.mark.parametrize(
    ("opening", "why"),
    [
        ([], "unconfirmed"),
        (handshake(5, 10)[:1], "unconfirmed"),
        ([*handshake(5, 10)[:2], frame(5, 11, ACK, acknowledged=1)], "unconfirmed"),
        ([*handshake(5, 10)[:2], damaged(handshake(5, 10)[2])], "unsound"),
    ],
    ids=["none", "only-the-SYN", "a-guessed-number", "a-wrong-checksum"],
)
def test_without_a_handshake_in_both_directions_nothing_counts(
    opening: list[Frame], why: str
) -> None:
    """A made-up sender doesn't get the server's number, so it can't end a handshake."""
    streams = Streams([80])
    sent = [frame(5, 11, ACK, AGAIN, acknowledged=1) for _ in range(15)]
    if why == "unsound":
        sent = [damaged(each) for each in sent]
    assert requests(streams, [*opening, *sent, answer(5, 11 + len(AGAIN))]) == []
    assert getattr(streams.counts, why) >= 15
    assert streams.counts.connections == 0


@pytest.mark.parametrize("at", [24, 25, 27, 38, 46, -1])
def test_a_wrong_checksum_of_ip_or_tcp_counts_nothing(at: int) -> None:
    """Whichever byte is damaged; one that no card has made yet is marked by the kernel."""
    sent, received = frame(5, 11, ACK, AGAIN), answer(5, 11 + len(AGAIN))
    streams = Streams([80])
    assert requests(streams, [*handshake(5, 10), damaged(sent, at), received]) == []
    assert streams.counts.unsound == 1
    local = damaged(sent, 50)._replace(has_checksum=False)
    assert len(requests(Streams([80]), [*handshake(5, 10), local, received])) == 1


def test_a_request_counts_once_the_server_has_received_it() -> None:
    """Content that the server's TCP doesn't take, whoever sent it, is not a request."""
    streams = Streams([80])
    size = len(AGAIN)
    assert requests(streams, [*handshake(5, 10), frame(5, 11, ACK, AGAIN)]) == []
    assert len(requests(streams, [answer(5, 11 + size)])) == 1
    beyond = frame(5, 11 + size + 5_000, ACK, AGAIN)
    assert requests(streams, [beyond, answer(5, 11 + size)]) == []


def test_two_contents_for_one_place_count_as_none() -> None:
    """Which of them the server took can't be told, so the connection is given up."""
    streams = Streams([80])
    made_up = AGAIN.replace(b"again", b"admin")
    sent = [frame(5, 11, ACK, AGAIN), frame(5, 11, ACK, made_up), answer(5, 11 + len(AGAIN))]
    assert requests(streams, [*handshake(5, 10), *sent]) == []
    assert streams.counts.ambiguous == 1
    later = [frame(5, 15, ACK, made_up[4:]), frame(5, 11, ACK, AGAIN)]
    assert requests(streams, [*handshake(5, 10), *later, answer(5, 11 + len(AGAIN))]) == []
    assert streams.counts.ambiguous == 2


def test_what_this_machine_asks_of_others_counts_for_nobody() -> None:
    """A connection that it opened itself to port 80 elsewhere is not a visit."""

    def turned(of: Frame) -> Frame:
        is_out = of.direction is Direction.OUTGOING
        return of._replace(direction=Direction.INCOMING if is_out else Direction.OUTGOING)

    frames = [*handshake(5, 10), frame(5, 11, ACK, AGAIN), answer(5, 11 + len(AGAIN))]
    for ports in ([80], []):
        assert requests(Streams(ports), [turned(each) for each in frames]) == []


def test_frames_between_others_count_for_nobody() -> None:
    """A sender on the link can make up both sides of a connection to another machine."""
    frames = [*handshake(5, 10), frame(5, 11, ACK, AGAIN), answer(5, 11 + len(AGAIN))]
    passing = [each._replace(direction=Direction.PASSING) for each in frames]
    assert requests(Streams([80]), passing) == []
    assert len(requests(Streams([80], is_one_sided=True), passing)) == 1


def test_a_file_has_both_sides_and_no_directions() -> None:
    """The side that answers the SYN is the server; its checksums may be left to its card."""
    frames = [*handshake(5, 10), frame(5, 11, ACK, AGAIN), answer(5, 11 + len(AGAIN))]
    recorded = [each._replace(direction=Direction.RECORDED) for each in frames]
    recorded[1] = damaged(recorded[1], 50)
    assert len(requests(Streams([80]), recorded)) == 1
    assert requests(Streams([80]), [recorded[0], *recorded[2:]]) == []


def test_a_reset_that_does_not_fit_ends_nothing() -> None:
    """One with the right number does, and so does one of the server."""
    wrong, right = frame(5, 4_000, RST), frame(5, 11, RST)
    sent = [frame(5, 11, ACK, AGAIN), answer(5, 11 + len(AGAIN))]
    assert len(requests(Streams([80]), [*handshake(5, 10), wrong, *sent])) == 1
    assert requests(Streams([80]), [*handshake(5, 10), right, *sent]) == []
    reset = answer(5, 11, RST | ACK)
    assert requests(Streams([80]), [*handshake(5, 10), reset, *sent]) == []


def test_a_closed_connection_is_forgotten() -> None:
    """Once the server has acknowledged the end, and what came before it."""
    streams = Streams([80])
    size = len(AGAIN)
    sent = [frame(5, 11, ACK | FIN, AGAIN), answer(5, 12 + size)]
    assert len(requests(streams, [*handshake(5, 10), *sent])) == 1
    assert len(streams) == 0
    assert streams.counts.gaps == 0


def test_what_is_lost_is_skipped() -> None:
    """After bytes that were not seen, the next request is read again."""
    streams = Streams([80])
    requests(streams, [*handshake(2, 100), answer(2, 2_000)])
    assert streams.counts.gaps == 1
    found = requests(streams, [frame(2, 2_000, ACK, AGAIN), answer(2, 2_000 + len(AGAIN))])
    assert [each["path"] for each in found] == ["/again"]


def test_of_one_side_what_is_lost_is_skipped_too() -> None:
    """Without the server's side, a gap counts as lost when much has come after it."""
    streams = Streams([80], is_one_sided=True)
    rest = [frame(2, 2_000 + 10 * number, ACK, b"x" * 10) for number in range(70)]
    requests(streams, [frame(2, 100, SYN), *rest])
    assert streams.counts.gaps == 1
    end = 2_000 + 700
    found = requests(streams, [frame(2, end, ACK, AGAIN)])
    assert [each["path"] for each in found] == ["/again"]


HOLDS = {
    "nothing": [],
    "a long header": [b"GET / HTTP/1.1\r\nx: " + b"a" * 60_000],
    "many headers": [b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 99],
    "a header without an end": [b"GET / HTTP/1.1\r\nx: ", *[b"a" * 60_000] * 4],
    "trailers without an end": [
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ",
        *[b"a" * 60_000] * 4,
    ],
    "a path without an end": [b"GET /", *[b"a" * 60_000] * 4],
}


@pytest.mark.parametrize("kind", list(HOLDS))
@pytest.mark.parametrize("is_received", [True, False], ids=["received", "early"])
def test_all_connections_together_are_bounded(
    kind: str, is_received: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever connections hold, all take at most a third more than they are counted as."""
    monkeypatch.setattr(streams_module, "MAX_BYTES", 3 * 2**20)
    streams = Streams([80])
    pieces = HOLDS[kind]
    count = {0: 2_000, 1: 300}.get(len(pieces), 40)
    tracemalloc.start()
    for number in range(count):
        sent, at = handshake(number + 1, 10), 11
        for piece in pieces:
            sent.append(frame(number + 1, at + (not is_received), ACK, piece))
            at += len(piece)
            if is_received:
                sent.append(answer(number + 1, at))
        requests(streams, sent)
        del sent
        assert tracemalloc.get_traced_memory()[0] < 4 * 2**20
    tracemalloc.stop()
    assert streams.counts.connections == count


def test_handshakes_without_an_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of SYNs leaves room for the others, and little in memory."""
    most = 1_000
    assert streams_module.MAX_OPENING * 512 + streams_module.MAX_BYTES * 4 / 3 <= 64 * 2**20
    monkeypatch.setattr(streams_module, "MAX_OPENING", most)
    streams = Streams([80])
    tracemalloc.start()
    for number in range(2 * most):
        requests(streams, [answer(number + 6, number, SYN | ACK)])
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 512 * most
    sent = [frame(5, 11, ACK, AGAIN), answer(5, 11 + len(AGAIN))]
    assert len(requests(streams, [*handshake(5, 10), *sent])) == 1


def test_no_frame_is_an_error() -> None:
    """Whatever bytes come, they are a segment or nothing."""
    chosen = random.Random(1)
    streams, base = Streams(is_one_sided=True), frame(3, 1, ACK, REQUEST).content
    for _ in range(20_000):
        changed = bytearray(base)
        for _ in range(chosen.randint(1, 4)):
            changed[chosen.randrange(len(changed))] = chosen.randrange(256)
        content = bytes(changed[: chosen.randrange(len(changed) + 1)])
        for each in (content, chosen.randbytes(chosen.randrange(90))):
            for direction in Direction:
                segment = read_frame(Frame(each, direction, has_checksum=False))
                if segment is not None:
                    streams.add(segment)
                    Streams().add(segment)
