"""The console's files, as its build wrote them, with their compressed forms."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import attrs

MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
CODINGS = {"br": ".br", "gzip": ".gz"}
"""The compressed forms, the preferred one first, with the file suffix that the build adds."""


@attrs.frozen
class Asset:
    """A file.

    Attributes:
        media_type: as in ``text/css``.
        tag: its strong entity tag.
        forms: its bytes by content coding; the empty name is the uncompressed file.
    """

    media_type: str
    tag: str
    forms: Mapping[str, bytes] = attrs.field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Asset:
        """Read a file and the compressed forms next to it.

        Raises:
            OSError: it can't be read.
        """
        content = path.read_bytes()
        forms = {"": content}
        for coding, suffix in CODINGS.items():
            compressed = path.with_name(path.name + suffix)
            if compressed.exists():
                forms[coding] = compressed.read_bytes()
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        return cls(MEDIA_TYPES[path.suffix], f'"{digest}"', forms)


@attrs.frozen
class Assets:
    """All files of one build.

    Attributes:
        index: the page.
        named: every other file, by its name with a hash of the content.
    """

    index: Asset
    named: Mapping[str, Asset]


def built() -> Path:
    """Return the folder that the build writes."""
    return Path(str(files("tidegate_server.console"))) / "assets"


def load(folder: Path) -> Assets | None:
    """Load the files of a build; return None if nothing was built.

    Args:
        folder: from :func:`built`.

    Raises:
        OSError: a file can't be read.
    """
    index = folder / "index.html"
    if not index.exists():
        return None
    named = {
        path.name: Asset.read(path)
        for path in (folder / "assets").iterdir()
        if path.suffix in MEDIA_TYPES
    }
    return Assets(Asset.read(index), named)
