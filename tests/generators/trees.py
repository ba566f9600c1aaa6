"""The corpus as canonical trees, for an engine that has no parser.

    python -m tests.generators.trees DIRECTORY

writes ``trees.jsonl`` next to the cases: a line for each case whose event JSON can hold, with its
bundle, the event, and the result of the reference evaluator.  The tests of the native core read it
without Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
import orjson
from tests.generators.corpus import CorpusCase, read_corpus

from tidegate.evaluation.rules import bundle
from tidegate.language.check.checker import check
from tidegate.testing.agreement import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "trees.jsonl"


def trees(directory: Path) -> Iterator[bytes]:
    """The lines of the file for a corpus, with their line ends."""
    for case in read_corpus(directory):
        line = _line(case)
        if line is not None:
            yield orjson.dumps(line) + b"\n"


def _line(case: CorpusCase) -> dict[str, Any] | None:
    """The line of a case, or None when its event has no form in JSON."""
    try:
        event = case.event if isinstance(case.event, bytes) else orjson.dumps(case.event)
    except TypeError:
        return None
    return {
        "id": case.id,
        "bundle": _bundle(case),
        "event": event.decode(),
        "expected": attrs.asdict(attrs.evolve(case, event=event).run("reference")),
    }


def _bundle(case: CorpusCase) -> dict[str, Any]:
    """The bundle of a case, with the fields that it reads and no others."""
    checked = check(case.text, case.schema, limits=UNPRICED)
    whole: dict[str, Any] = orjson.loads(bundle({"": checked}, case.schema, case.limits))
    read = checked.references.fields
    return {**whole, "fields": {name: whole["fields"][name] for name in sorted(read)}}


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(directory: Path) -> None:
    """Write the trees of the corpus in DIRECTORY."""
    (directory / FILE).write_bytes(b"".join(trees(directory)))


if __name__ == "__main__":
    main()
