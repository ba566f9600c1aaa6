"""The large data sets that may lie beside the repository, or a skip that says so."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_path(name: str) -> Path:
    """A file or folder of the shared data; skips the test where it is not at hand."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the shared data set `{name}` is not beside this repository")
    return path


def shared_lines(name: str, *, step: int = 1) -> list[Any]:
    """Every ``step``-th JSON line of a shared file, unpacked when its name ends in ``.gz``."""
    path = shared_path(name)
    content = path.read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    return [json.loads(line) for line in text.splitlines()[::step]]
