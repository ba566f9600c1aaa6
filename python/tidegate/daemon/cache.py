"""The service's data on disk: a file that is not whole, or not of this folder, is not used.

A file begins with a keyed hash of the rest; its key is made of the API key, which nobody else on
the machine can read.  The file before the present one is kept beside it.
"""

from __future__ import annotations

import hashlib
import hmac
from contextlib import suppress
from pathlib import Path

import attrs

from tidegate.daemon import private
from tidegate.server.logging import log

_FORM = b"tidegate-cache-v1 "
_MAX_BYTES = 256 * 1024 * 1024


@attrs.frozen
class Cache:
    """The files of a folder.

    Args:
        directory: the folder.
        key: what the hashes are made with, 32 bytes.
    """

    directory: Path
    key: bytes = attrs.field(repr=False)

    @classmethod
    def of(cls, directory: Path, api_key: str) -> Cache:
        """The files that belong to an API key."""
        key = hashlib.blake2b(api_key.encode(), digest_size=32, person=b"tidegate-cache").digest()
        return cls(directory, key)

    def read(self, name: str) -> bytes | None:
        """The content of a file, or of the one before it when it is damaged; None without one."""
        for path in (self.directory / name, self.directory / f"{name}.previous"):
            try:
                found = private.read(path, _MAX_BYTES)
            except (private.PrivateFileError, OSError) as error:
                log.warning("a cache file is not used", file=str(path), reason=str(error))
                continue
            if found is None:
                continue
            head, _, body = found.partition(b"\n")
            if hmac.compare_digest(head, self._head(name, body)):
                return body
            log.warning("a cache file is damaged and not used", file=str(path))
        return None

    def write(self, name: str, body: bytes) -> None:
        """Put a file in place; the present one is kept as the one before.

        Raises:
            OSError: it cannot be written.
        """
        path = self.directory / name
        with suppress(FileNotFoundError):
            path.replace(self.directory / f"{name}.previous")
        private.write(path, b"%b\n%b" % (self._head(name, body), body))

    def _head(self, name: str, body: bytes) -> bytes:
        made = hashlib.blake2b(body, digest_size=32, key=self.key, salt=name.encode()[:16])
        return _FORM + made.hexdigest().encode()
