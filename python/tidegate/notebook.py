"""Results as HTML, for notebooks, which call ``_repr_html_`` of a cell's last value.

Plain tables without scripts or styles; every text is escaped, since it may come from a visitor.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_ROWS = 200
"""Further rows are counted, not shown."""


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; None is shown as an empty cell.

    Args:
        header: column names; empty for a table without a header.
        rows: cells, shown by ``str``.
    """
    all_rows = list(rows)
    head = f"<thead>{_row('th', header)}</thead>" if header else ""
    body = "".join(_row("td", cells) for cells in all_rows[:MAX_ROWS])
    more = len(all_rows) - MAX_ROWS
    rest = f"<p>and {more} more</p>" if more > 0 else ""
    return f"<table>{head}<tbody>{body}</tbody></table>{rest}"


def text(content: str) -> str:
    """Text with significant lines and spaces."""
    return f"<pre>{escape(content)}</pre>"


def _row(tag: str, cells: Iterable[object]) -> str:
    shown = ("" if cell is None else escape(str(cell)) for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"
