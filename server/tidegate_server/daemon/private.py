"""Private files: readable by their owner only, checked on opening, and replaced atomically.

A file is opened without following links and checked by its descriptor, so it can't be swapped
between the check and the read.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tidegate.errors import TidegateError

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700


class PrivateFileError(TidegateError):
    """A file or folder cannot be trusted; the message says why and how to fix it."""

    code = "untrusted-file"


def make_directory(path: Path) -> None:
    """Create a folder for its owner only, or check an existing one.

    Raises:
        PrivateFileError: it isn't a folder, belongs to another user, or is open to others.
        OSError: it cannot be created.
    """
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PrivateFileError(f"`{path}` is not a folder")
    _check(path, found, DIRECTORY_MODE)


def read(path: Path, most: int) -> bytes | None:
    """The content of a file; None if it doesn't exist.

    Args:
        path: the file's path.
        most: most bytes it may have.

    Raises:
        PrivateFileError: it isn't a regular file, belongs to another user, is open to others, or is
            too large.
        OSError: it cannot be read.
    """
    file = opened(path)
    if file is None:
        return None
    with file:
        content = file.read(most + 1)
    if len(content) > most:
        raise PrivateFileError(f"`{path}` has more than {most:,} bytes")
    return content


def opened(path: Path) -> BinaryIO | None:
    """Open a file to read and close; None if it doesn't exist.

    Raises:
        PrivateFileError: it isn't a regular file, belongs to another user, or is open to others.
        OSError: it cannot be read.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if path.is_symlink():
            raise PrivateFileError(f"`{path}` is a link: put the file itself there") from None
        raise PrivateFileError(f"`{path}` cannot be opened: {error.strerror}") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise PrivateFileError(f"`{path}` is not a plain file")
    file = os.fdopen(descriptor, "rb")
    try:
        if found.st_nlink > 1:
            raise PrivateFileError(f"`{path}` has another name too (a hard link): make it anew")
        _check(path, found, FILE_MODE)
    except PrivateFileError:
        file.close()
        raise
    return file


def write(path: Path, content: bytes) -> None:
    """Replace a file: after a crash it is the old one or the new one.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    with writing(path) as file:
        file.write(content)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Like :func:`write`, for content in pieces; the file is in place when the context ends.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    made = path.with_name(f".{path.name}-{secrets.token_hex(6)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(made, flags, FILE_MODE), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise
    sync_directory(path.parent)


def opener(path: str, flags: int) -> int:
    """Open a file for its owner only, as the ``opener`` of :func:`open`.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, flags, FILE_MODE)
    # An existing file may have another mode; one that leads to a device keeps it.
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def sync_directory(path: Path) -> None:
    """Flush a folder's directory entries to stable storage."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(directory: Path) -> None:
    """Remove the remains of an interrupted :func:`write` in a folder."""
    for each in directory.glob(".*-[0-9a-f]*"):
        with suppress(OSError):
            each.unlink()


def _check(path: Path, found: os.stat_result, mode: int) -> None:
    if found.st_uid != os.geteuid():
        raise PrivateFileError(f"`{path}` belongs to another user")
    if found.st_mode & 0o077:
        raise PrivateFileError(f"`{path}` is open to other users: run `chmod {mode:o} {path}`")
