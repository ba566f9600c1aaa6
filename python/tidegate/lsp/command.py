"""``tidegate lsp``: findings, completions and more for an editor."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--events",
    type=click.Path(exists=True, dir_okay=False),
    help="A file of events or an access log, for recent values and for explanations.",
)
def lsp(events: str | None) -> None:
    """Serve an editor that speaks the Language Server Protocol over standard input and output.

    An editor starts this command; docs/editors.md has the lines for each.
    """
    try:
        from tidegate.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        message = "`tidegate lsp` needs pygls: pip install 'tidegate[lsp]'"
        raise click.UsageError(message) from None
    make_server(events or "").start_io()
