"""The corpus as canonical trees."""

from __future__ import annotations

from pathlib import Path

from tests.generators.trees import FILE, trees

CORPUS = Path(__file__).parents[1] / "corpus"


def test_the_file_is_what_the_corpus_gives() -> None:
    """The native core is tested on the cases as they are now; the module's command renews them."""
    assert (CORPUS / FILE).read_bytes() == b"".join(trees(CORPUS))
