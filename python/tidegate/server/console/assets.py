"""The files of the console, as its build wrote them, with their compressed forms."""

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
"""The compressed forms, the preferred one first, with what the build adds to the file's name."""


@attrs.frozen
class Asset:
    """A file.

    Attributes:
        media_type: as in ``text/css``.
        tag: its strong entity tag.
        forms: its bytes by content coding; the empty name stands for the file as it is.
    """

    media_type: str
    tag: str
    forms: Mapping[str, bytes] = attrs.field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Asset:
        """A file and the compressed forms beside it.

        Raises:
            OSError: it cannot be read.
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
        named: every other file by its name, which holds a hash of the content.
    """

    index: Asset
    named: Mapping[str, Asset]


def built() -> Path:
    """The folder that the build writes."""
    return Path(str(files("tidegate.console"))) / "assets"


def load(folder: Path) -> Assets | None:
    """The files of a build; None when nothing was built.

    Args:
        folder: as :func:`built` gives it.

    Raises:
        OSError: a file cannot be read.
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
