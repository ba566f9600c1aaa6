"""Writes the links of the published metadata: ``python tools/metadata.py REPOSITORY TAG``.

A release runs it before it builds. Pages of a package index have no files of the repository, so
relative links of both README files become absolute, at the tag, and ``OWNER/tidegate`` in both
``pyproject.toml`` becomes the repository. A tag of a version has to be that of this one.
"""

from __future__ import annotations

import posixpath
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACEHOLDER = "https://github.com/OWNER/tidegate"
FOLDERS = (".", "server")
_LINK = re.compile(r"\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")
_PICTURES = (".png", ".svg", ".webp", ".gif")


def absolute(text: str, folder: str, repository: str, tag: str) -> str:
    """A page with absolute links.

    Args:
        text: Markdown.
        folder: the page's folder, relative to the repository.
        repository: its address.
        tag: the commit that links are of.
    """

    def link(found: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(folder, found[1]))
        kind = "raw" if place.endswith(_PICTURES) else "blob"
        return f"]({repository}/{kind}/{tag}/{place}{found[2] or ''})"

    return _LINK.sub(link, text)


def write(root: Path, repository: str, tag: str) -> None:
    """Write the files of a checkout.

    Raises:
        SystemExit: the tag isn't that of the version.
    """
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if re.match(r"v\d", tag) and tag != f"v{version}":
        raise SystemExit(f"the tag `{tag}` isn't that of version {version}, `v{version}`")
    for folder in FOLDERS:
        readme, project = root / folder / "README.md", root / folder / "pyproject.toml"
        readme.write_text(absolute(readme.read_text(), folder, repository, tag))
        project.write_text(project.read_text().replace(PLACEHOLDER, repository))


if __name__ == "__main__":
    write(ROOT, sys.argv[1].rstrip("/"), sys.argv[2])
