"""Sources of requests: an interface, a packet file, or a growing access log."""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from tidegate.errors import TidegateError
from tidegate_server.capture.bpf import HEAD_BYTES, compile_filter, packed
from tidegate_server.capture.frames import Direction, Frame

ALL_FRAMES = 0x0003
SNAP_BYTES = 65_600
"""The largest packet with its Ethernet header: the kernel merges packets before they are read."""
BUFFER_BYTES = 64 * 1024 * 1024
"""The kernel's buffer for unread frames."""
IDLE_SECONDS = 0.2
MAX_LINE = 64 * 1024
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE = 26, 33
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_AUXDATA = 263, 6, 8
_PACKET_HOST, _PACKET_OUTGOING = 0, 4
_AUXILIARY = struct.Struct("IIIHHHH")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_AUXILIARY.size)
_NO_CHECKSUM = 1 << 3
"""TP_STATUS_CSUMNOTREADY: the kernel left the checksum to a network card."""
_DIRECTIONS = {_PACKET_HOST: Direction.INCOMING, _PACKET_OUTGOING: Direction.OUTGOING}
_PCAP = struct.Struct("IHHiIII")
_PCAP_RECORD = struct.Struct("IIII")
_MAGIC = 0xA1B2C3D4
_ETHERNET = 1


class SourceError(TidegateError):
    """A source cannot be read."""

    code = "capture-source"


class Interface:
    """Frames of an interface that pass a filter; needs permission to open a packet socket.

    Args:
        name: the interface's name.
        filter_text: as for :func:`tidegate_server.capture.bpf.compile_filter`.
        answers: bytes to read of each frame in the other direction; None to skip these frames.

    Raises:
        FilterError: the filter is invalid.
        SourceError: the interface cannot be read.
    """

    def __init__(self, name: str, filter_text: str, answers: int | None = HEAD_BYTES) -> None:
        program = compile_filter(filter_text, answers=answers)
        try:
            # Without a protocol it receives nothing until it is bound to its interface.
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._attach(packed(program), len(program))
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, BUFFER_BYTES)
            self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            self._socket.bind((name, ALL_FRAMES))
        except OSError as error:
            raise SourceError(f"`{name}` cannot be read: {error.strerror or error}") from None
        self._socket.setblocking(False)
        self.dropped = 0
        """Frames that the kernel had no room for."""

    def _attach(self, content: bytes, count: int) -> None:
        buffer = ctypes.create_string_buffer(content, len(content))
        program = struct.pack("HL", count, ctypes.addressof(buffer))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)

    def frames(self, is_over: Callable[[], bool]) -> Iterator[Frame | None]:
        """Yield frames as they arrive, and None after a quiet interval, until it is over."""
        while not is_over():
            readable, _, _ = select.select([self._socket], [], [], IDLE_SECONDS)
            if not readable:
                yield None
                continue
            for _ in range(1_000):
                try:
                    yield self._receive()
                except BlockingIOError:
                    break
                except OSError:  # The interface is down; it may come back.
                    time.sleep(IDLE_SECONDS)
                    break
            yield None

    def _receive(self) -> Frame:
        content, ancillary, _, address = self._socket.recvmsg(SNAP_BYTES, _ANCILLARY_BYTES)
        status = 0
        for level, kind, data in ancillary:
            if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
                status = _AUXILIARY.unpack(data)[0]
        direction = _DIRECTIONS.get(address[2], Direction.PASSING)
        return Frame(content, direction, not status & _NO_CHECKSUM)

    def count_dropped(self) -> int:
        """Count the frames dropped by the kernel since the start."""
        found = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        self.dropped += struct.unpack("II", found)[1]
        return self.dropped

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def read_pcap(path: Path) -> Iterator[Frame]:
    """The frames in a file of tcpdump's older format, which has no directions.

    Raises:
        SourceError: it isn't such a file, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_PCAP.size)
            if len(head) < _PCAP.size or _PCAP.unpack(head)[0] != _MAGIC:
                raise SourceError(f"`{path}` isn't a pcap file of this machine's byte order")
            if _PCAP.unpack(head)[6] != _ETHERNET:
                raise SourceError(f"`{path}` has no Ethernet frames")
            while len(record := file.read(_PCAP_RECORD.size)) == _PCAP_RECORD.size:
                length = _PCAP_RECORD.unpack(record)[2]
                if length > SNAP_BYTES * 4:
                    raise SourceError(f"`{path}` is damaged")
                frame = file.read(length)
                if len(frame) < length:
                    return
                yield Frame(frame)
    except OSError as error:
        raise SourceError(f"`{path}` cannot be read: {error.strerror}") from None


class PcapWriter:
    """Writes frames to a file of tcpdump's older format.

    Args:
        file: the file, open for writing.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(_PCAP.pack(_MAGIC, 2, 4, 0, 0, SNAP_BYTES * 4, _ETHERNET))

    def write(self, frame: bytes, at_ns: int) -> int:
        """Write a frame, received at a time in nanoseconds since 1970; return its size in bytes."""
        seconds, rest = divmod(at_ns, 1_000_000_000)
        self._file.write(_PCAP_RECORD.pack(seconds, rest // 1_000, len(frame), len(frame)))
        return self._file.write(frame)


def follow(
    path: Path,
    is_over: Callable[[], bool],
    *,
    from_start: bool,
    missing: Callable[[str], None] = lambda _: None,
) -> Iterator[str | None]:
    """Yield a log's lines as they are written, across rotations, and None after a quiet interval.

    A replaced file is read to its end before the new one; a truncated one is read from its start.
    Overlong lines keep their beginning and end.

    Args:
        path: the log's path; it need not exist yet.
        is_over: polled to end the iteration.
        from_start: whether to read existing lines too.
        missing: called with the reason if the file cannot be opened, once until it can.
    """
    file: BinaryIO | None = None
    rest = b""
    is_missing = False
    while not is_over():
        if file is None:
            try:
                file, is_missing = _opened(path, from_start), False
            except OSError as error:
                if not is_missing:
                    missing(f"`{path}` cannot be read: {error.strerror}")
                is_missing = True
            from_start, rest = True, b""
        data = b"" if file is None else file.read(256 * 1024)
        if data:
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > MAX_LINE:
                rest = rest[: MAX_LINE // 2] + rest[-MAX_LINE // 2 :]
            yield from (line.decode("utf-8", "replace") for line in lines if line.strip())
            continue
        yield None
        time.sleep(IDLE_SECONDS)
        if file is not None and _is_rotated(path, file):
            last = file.read()
            yield from (
                line.decode("utf-8", "replace")
                for line in (rest + last).split(b"\n")
                if line.strip()
            )
            file.close()
            file = None
    if file is not None:
        file.close()


def _opened(path: Path, from_start: bool) -> BinaryIO:
    file = path.open("rb")
    if not from_start:
        file.seek(0, os.SEEK_END)
    return file


def _is_rotated(path: Path, file: BinaryIO) -> bool:
    mine = os.fstat(file.fileno())
    try:
        present = path.stat()
    except OSError:
        return False
    if (present.st_dev, present.st_ino) != (mine.st_dev, mine.st_ino):
        return True
    return mine.st_size < file.tell()
