"""Key material: created at the first start, one private file per purpose.

Keys have no default.  The start fails on a file that others can read, that belongs to another
user, or that contains anything but a key for its purpose.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import attrs

from tidegate.errors import TidegateError

KEY_BYTES = 32
_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600
_MARK = "identity"
_MARK_FORM = "tidegate-keys-v1:"
_MAX_FILE_BYTES = 1_024
"""Every key file is shorter."""


class KeyFileError(TidegateError):
    """A key file cannot be trusted; the message says which one and how to fix it."""

    code = "untrusted-key-file"


def _purpose(name: str) -> bytes:
    return attrs.field(metadata={"file": name}, repr=False)  # type: ignore[no-any-return]


@attrs.frozen(kw_only=True)
class Keys:
    """One 32-byte key for each purpose; none is ever used for another."""

    signing: bytes = _purpose("token-signing")
    """Seed of the Ed25519 key that signs operator tokens."""
    pepper: bytes = _purpose("api-key-pepper")
    """The key for hashes of API keys and other secrets; keys that seal stored responses or sign
    alerts, and the key by which nodes recognise each other, are derived from it."""
    cursors: bytes = _purpose("cursor")
    """The key that seals the cursors of lists."""
    redaction: bytes = _purpose("redaction")
    """Redacted values are hashed under keys derived from it, one per tenant."""
    proofs: bytes = _purpose("challenge-proof")
    """The source of each tenant's challenge proof keys."""
    sealing: bytes = _purpose("challenge-sealing")
    """The source of the keys that seal a challenge's return URL."""
    sync: bytes = _purpose("sync-signing")
    """Seed of the Ed25519 key that signs responses to daemons."""

    def redaction_of(self, tenant_id: UUID) -> bytes:
        """The key of a tenant's redaction hashes, 32 bytes.

        The tenant's daemons know this key and the two below, which reveal nothing about other
        tenants' keys.
        """
        return _of_tenant(self.redaction, tenant_id)

    def proofs_of(self, tenant_id: UUID) -> bytes:
        """The source of a tenant's challenge proof keys, 32 bytes."""
        return _of_tenant(self.proofs, tenant_id)

    def sealing_of(self, tenant_id: UUID) -> bytes:
        """The source of the keys that seal a tenant's challenges, 32 bytes."""
        return _of_tenant(self.sealing, tenant_id)

    def alerts_of(self, tenant_id: UUID, url: str) -> bytes:
        """The key that signs alerts of a tenant to a webhook, 32 bytes."""
        source = hashlib.blake2b(key=self.pepper, digest_size=KEY_BYTES, person=b"tidegate-alerts")
        source.update(tenant_id.bytes + url.encode())
        return source.digest()


def _of_tenant(key: bytes, tenant_id: UUID) -> bytes:
    return hashlib.blake2b(tenant_id.bytes, key=key, digest_size=KEY_BYTES).digest()


LATER = ("proofs", "sealing", "sync")
"""Purposes missing from directories of earlier versions: :func:`add_keys` adds them."""


def load_keys(directory: Path) -> Keys:
    """The keys in a directory; creates all of them if the directory doesn't exist yet.

    After :func:`mark_keys` has marked the directory, each key must be the marked one.

    Raises:
        KeyFileError: the directory or a file in it cannot be trusted, or a file is missing.
        OSError: a file cannot be read or written.
    """
    if not directory.exists():
        _make(directory)
    _require_private(directory, os.lstat(directory), "a directory", stat.S_ISDIR)
    for purpose in _lacking(directory):
        raise KeyFileError(
            f"the key file `{_file(directory, purpose)}` is missing, which earlier versions did not"
            " have: `tidegate migrate` makes it"
        )
    keys = Keys(**{each.name: _read(directory, each.metadata["file"]) for each in _fields()})
    _require_marked(directory, keys)
    return keys


def add_keys(directory: Path) -> None:
    """Create the keys that earlier versions did not have, if the directory is from one.

    Safe to interrupt and run again.

    Raises:
        OSError: a file cannot be read or written.
    """
    for purpose in _lacking(directory):
        _put(_file(directory, purpose), _text(purpose, secrets.token_bytes(KEY_BYTES)))


def fingerprint(keys: Keys) -> bytes:
    """A fingerprint of these keys, 16 bytes, which reveals nothing else about them."""
    return _fingerprint(_marks(keys))


def earlier_fingerprint(keys: Keys) -> bytes:
    """The fingerprint from an earlier version, which lacked some of the keys."""
    return _fingerprint(_earlier(_marks(keys)))


def _fingerprint(marks: list[str]) -> bytes:
    return hashlib.blake2b("".join(marks).encode(), digest_size=16).digest()


def mark_keys(directory: Path, identity: UUID, keys: Keys) -> None:
    """Record next to the keys their data directory, and each key's fingerprint.

    Raises:
        OSError: it cannot be written.
    """
    _put(directory / _MARK, "".join([f"{_MARK_FORM}{identity}\n", *_marks(keys)]))


def is_marked(directory: Path) -> bool:
    """Whether each key in a directory has a recorded fingerprint."""
    known = _known_marks(directory)
    return all(f"{each.metadata['file']}:" in known for each in _fields())


def _marks(keys: Keys) -> list[str]:
    """One line per key."""
    lines = []
    for each in _fields():
        purpose, key = each.metadata["file"], getattr(keys, each.name)
        known_by = hashlib.blake2b(key, digest_size=16, person=b"tidegate-key").hexdigest()
        lines.append(f"{purpose}:{known_by}\n")
    return lines


def _earlier(marks: list[str]) -> list[str]:
    """The lines that an earlier version wrote."""
    kept = zip(_fields(), marks, strict=True)
    return [mark for each, mark in kept if each.name not in LATER]


def _lacking(directory: Path) -> list[str]:
    """The purposes missing from an earlier version that have no key yet."""
    known = _known_marks(directory)
    later = [each.metadata["file"] for each in _fields() if each.name in LATER]
    return [
        purpose
        for purpose in later
        if f"{purpose}:" not in known and not os.path.lexists(_file(directory, purpose))
    ]


def _known_marks(directory: Path) -> str:
    """The recorded lines; empty before they were written."""
    path = directory / _MARK
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return file.read(_MAX_FILE_BYTES).decode("ascii", "replace")


def _require_marked(directory: Path, keys: Keys) -> None:
    path = directory / _MARK
    if not path.exists():
        return
    first, *known = _known_marks(directory).splitlines(keepends=True) or [""]
    marks = _marks(keys)
    if len(known) == len(_earlier(marks)):
        marks = _earlier(marks)
    if len(known) != len(marks) or not first.startswith(_MARK_FORM):
        raise KeyFileError(
            f"the file `{path}` is damaged: restore it, or remove it, and what the database knows"
            " of the keys counts alone"
        )
    for line, found in zip(known, marks, strict=True):
        if line != found:
            raise KeyFileError(
                f"`{_file(directory, found.partition(':')[0])}` does not hold the key that was made"
                f" for this directory, or `{path}` is damaged: restore both from a backup"
            )


def _fields() -> tuple[attrs.Attribute[bytes], ...]:
    return attrs.fields(Keys)


def _file(directory: Path, purpose: str) -> Path:
    return directory / f"{purpose}.key"


def _text(purpose: str, key: bytes) -> str:
    """A key file names its purpose, so that no other file can replace it."""
    return f"tidegate-{purpose}-v1:{key.hex()}\n"


def _make(directory: Path) -> None:
    """Create all keys together: the directory appears complete or not at all."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=directory.parent, prefix=".keys-"))
    try:
        for each in _fields():
            purpose = each.metadata["file"]
            _write(_file(made, purpose), _text(purpose, secrets.token_bytes(KEY_BYTES)))
        _sync(made)
        made.rename(directory)
        _sync(directory.parent)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        # If another process was first, use its keys.
        if not directory.is_dir():
            raise


def _put(path: Path, text: str) -> None:
    """Replace a file; a crash leaves the old one or the new one."""
    made = path.with_name(f".{path.name}-{os.getpid()}")
    made.unlink(missing_ok=True)
    _write(made, text)
    made.replace(path)
    _sync(path.parent)


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(directory: Path, purpose: str) -> bytes:
    path = _file(directory, purpose)
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise KeyFileError(
            f"the key file `{path}` is missing: restore it; a new set of keys, with which tokens"
            f" and API keys made before stop working, is made once `{directory}` is removed, with"
            " `tidegate migrate --accept-keys`"
        ) from None
    except OSError as error:
        raise KeyFileError(f"the key file `{path}` cannot be opened: {error.strerror}") from None
    try:
        _require_private(path, os.fstat(descriptor), "a file", stat.S_ISREG)
        content = os.read(descriptor, _MAX_FILE_BYTES)
    finally:
        os.close(descriptor)
    form = rb"tidegate-%b-v1:([0-9a-f]{%d})\n?" % (purpose.encode(), 2 * KEY_BYTES)
    match = re.fullmatch(form, content)
    key = bytes.fromhex(match[1].decode()) if match else b""
    if len(set(key)) < KEY_BYTES // 4:
        raise KeyFileError(f"the file `{path}` holds no key that was made for this purpose")
    return key


def _require_private(
    path: Path, found: os.stat_result, kind: str, is_kind: Callable[[int], bool]
) -> None:
    if not is_kind(found.st_mode):
        raise KeyFileError(f"`{path}` is not {kind}")
    if found.st_uid != os.geteuid():
        raise KeyFileError(f"`{path}` belongs to another user")
    if found.st_mode & 0o077:
        mode = _DIRECTORY_MODE if stat.S_ISDIR(found.st_mode) else _FILE_MODE
        mend = f"run `chmod {mode:o} {path}`"
        raise KeyFileError(f"`{path}` is open to other users: {mend}")
