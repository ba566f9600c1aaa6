"""The large data sets that may lie beside the repository, and samples of them where they do not."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

SHARED = Path(__file__).resolve().parents[2] / "shared"
SAMPLE = Path(__file__).resolve().parent / "sample"


def size(whole: int, sample: int) -> int:
    """The first number where the whole sets are at hand, else the second."""
    return whole if SHARED.exists() else sample


def shared_path(name: str) -> Path:
    """A file or folder of the whole set, or of its sample where the set is not at hand."""
    path = SHARED / name
    return path if path.exists() else SAMPLE / name


def shared_lines(name: str, *, step: int = 1) -> list[Any]:
    """JSON lines of a file, unpacked when its name ends in ``.gz``.

    Args:
        name: path of the file in the data sets.
        step: take every ``step``-th line of a whole set; a sample is read whole.
    """
    path = shared_path(name)
    content = path.read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    lines = text.splitlines()
    assert lines, f"{path} is empty, and a test over it would claim nothing"
    return [json.loads(line) for line in (lines[::step] if path.is_relative_to(SHARED) else lines)]


def some_lines(name: str, most: int) -> list[Any]:
    """At most a number of lines, from all over a file; see :func:`shared_lines`.

    `make hostile-test` has all of them.
    """
    lines = shared_lines(name)
    return lines if "EVERY_LINE" in os.environ else lines[:: -(-len(lines) // most)]
