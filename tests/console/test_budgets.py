"""The files that a browser has to fetch stay small."""

from __future__ import annotations

from pathlib import Path

from tests.browser import Watched
from tests.console.conftest import ASSETS

KILOBYTE = 1024
FIRST_SCRIPTS, FIRST_STYLES, EDITOR, PLOTS, WHOLE = 60, 15, 150, 30, 1024
"""In kilobytes: packed with gzip, but for the whole."""
FILES = ASSETS / "assets"


def packed(path: Path) -> float:
    """Kilobytes of a file as it is sent."""
    return path.with_name(f"{path.name}.gz").stat().st_size / KILOBYTE


def test_the_first_load_is_small(owner: Watched) -> None:
    """The overview, from nothing, needs few scripts and styles."""
    names = owner.page.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    files = {FILES / str(name).rsplit("/", 1)[1] for name in names if "/assets/" in name}
    # Plots come after everything else, and have a bound of their own.
    files -= set(FILES.glob("plotted-*"))
    assert sum(packed(each) for each in files if each.suffix == ".js") <= FIRST_SCRIPTS
    assert sum(packed(each) for each in files if each.suffix == ".css") <= FIRST_STYLES
    assert not any("editor" in each.name for each in files)


def test_editor_and_plots_are_small() -> None:
    """The largest parts are fetched only where they are needed, and have bounds of their own."""
    assert sum(packed(each) for each in FILES.glob("editor-*.js")) <= EDITOR
    assert sum(packed(each) for each in FILES.glob("plot*-*.js")) <= PLOTS


def test_the_whole_is_small() -> None:
    """All files, unpacked, are less than a megabyte."""
    whole = [each for each in ASSETS.rglob("*") if each.is_file()]
    unpacked = [each for each in whole if each.suffix not in (".br", ".gz")]
    assert sum(each.stat().st_size for each in unpacked) / KILOBYTE <= WHOLE
