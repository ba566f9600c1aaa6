"""The service's data on disk; an incomplete file, or one from another folder, is not used.

A file begins with a keyed hash of the rest. The key is derived from the API key, which no other
user on the machine can read.  The previous file is kept next to the current one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import attrs

from tidegate_server.daemon import private
from tidegate_server.logging import log

_FORM = b"tidegate-cache-v1 "
_PIECE_BYTES = 64 * 1024


@attrs.frozen
class Cache:
    """The files in a folder.

    Args:
        directory: the folder.
        key: key of the hashes, 32 bytes.
    """

    directory: Path
    key: bytes = attrs.field(repr=False)

    @classmethod
    def of(cls, directory: Path, api_key: str) -> Cache:
        """The files for an API key."""
        key = hashlib.blake2b(api_key.encode(), digest_size=32, person=b"tidegate-cache").digest()
        return cls(directory, key)

    def read(self, name: str) -> bytes | None:
        """The content of a file, or of its predecessor if it is damaged; None without either."""
        with self.reading(name) as file:
            return None if file is None else file.read()

    @contextmanager
    def reading(self, name: str) -> Iterator[BinaryIO | None]:
        """Like :meth:`read`, but returns an open file at its beginning, to read in pieces."""
        with ExitStack() as stack:
            for path in (self.directory / name, self.directory / f"{name}.previous"):
                try:
                    found = private.opened(path)
                    if found is None:
                        continue
                    if self._is_sound(name, stack.enter_context(found)):
                        break
                    log.warning("a cache file is damaged and not used", file=str(path))
                except (private.PrivateFileError, OSError) as error:
                    log.warning("a cache file is not used", file=str(path), reason=str(error))
            else:
                found = None
            yield found

    def write(self, name: str, body: bytes) -> None:
        """Put a file in place; the current one is kept as its predecessor.

        Raises:
            OSError: it cannot be written.
        """
        with self.writing(name) as take:
            take(body)

    @contextmanager
    def writing(self, name: str) -> Iterator[Callable[[bytes], object]]:
        """Like :meth:`write`, for content in pieces: yields the function that takes each.

        Raises:
            OSError: it cannot be written.
        """
        path, made = self.directory / name, self._hash(name)

        def take(piece: bytes) -> None:
            made.update(piece)
            file.write(piece)

        with private.writing(path) as file:
            file.write(_head(made))
            yield take
            file.seek(0)
            file.write(_head(made))
            with suppress(FileNotFoundError):
                path.replace(self.directory / f"{name}.previous")

    def _is_sound(self, name: str, file: BinaryIO) -> bool:
        """Whether a file is intact; if so, its position is at the beginning of its content."""
        made = self._hash(name)
        head = file.read(len(_head(made)))
        begin = file.tell()
        while piece := file.read(_PIECE_BYTES):
            made.update(piece)
        file.seek(begin)
        return hmac.compare_digest(head, _head(made))

    def _hash(self, name: str) -> hashlib.blake2b:
        return hashlib.blake2b(digest_size=32, key=self.key, salt=name.encode()[:16])


def _head(made: hashlib.blake2b) -> bytes:
    return b"%b%b\n" % (_FORM, made.hexdigest().encode())
