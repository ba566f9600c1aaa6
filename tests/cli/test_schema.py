"""``tidegate schema``: what an editor knows of a document before the checker does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from tidegate.cli.schema import schema

DOCUMENTS = Path(__file__).resolve().parents[1] / "documents"
BEYOND_A_SCHEMA = {
    "alias.yaml": "an alias is gone before a schema sees the value",
    "anchor.yaml": "an anchor is gone before a schema sees the value",
    "control-character.yaml": "YAML doesn't allow the character",
    "empty.yaml": "there is no value",
    "expressions.yaml": "the text of an expression is any text",
    "members.json": "readers of JSON drop all but the last of two members of one name",
    "nan.json": "JSON has no such number",
    "second-document.yaml": "a schema is about one document",
    "syntax.yaml": "it isn't YAML",
    "tag.yaml": "a tag is gone before a schema sees the value",
}
"""Bad documents that a schema can't refuse, and why."""


class Loader(yaml.SafeLoader):
    """YAML 1.2, as our reader and editors take it: a time and `NO` are texts."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, form) for tag, form in found if not tag.endswith((":timestamp", ":bool"))]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false"), list("tf"))


def read(path: Path) -> Any:
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader)


def printed(kind: str) -> dict[str, Any]:
    made = CliRunner().invoke(schema, [kind])
    assert made.exit_code == 0, made.output
    found: dict[str, Any] = json.loads(made.stdout)
    assert found["$schema"].startswith("https://json-schema.org/")
    return found


@pytest.mark.parametrize("path", sorted((DOCUMENTS / "good").iterdir()), ids=lambda path: path.name)
def test_a_good_document_fits(path: Path) -> None:
    """An editor marks nothing in it."""
    validator = jsonschema_rs.Draft202012Validator(printed("definitions"))
    document = read(path)
    assert [error.message for error in validator.iter_errors(document)] == []


BAD = {
    path.name: path
    for path in sorted((DOCUMENTS / "bad").iterdir())
    if path.suffix in (".yaml", ".json")
}


@pytest.mark.parametrize("name", sorted(BAD.keys() - BEYOND_A_SCHEMA.keys()))
def test_a_bad_document_does_not_fit(name: str) -> None:
    """An editor marks it, unless its fault is of a kind that no schema knows."""
    assert BAD.keys() > BEYOND_A_SCHEMA.keys()
    validator = jsonschema_rs.Draft202012Validator(printed("definitions"))
    assert not validator.is_valid(read(BAD[name]))


def test_the_tests_of_packs_fit() -> None:
    """The schema of tests takes every file of tests in the repository."""
    validator = jsonschema_rs.Draft202012Validator(printed("tests"))
    packs = DOCUMENTS.parents[1] / "python/tidegate/packs"
    files = [path for path in packs.rglob("tests/*.yaml") if "apiVersion" in path.read_text()]
    assert files
    for path in files:
        document = read(path)
        assert [f"{path}: {error}" for error in validator.iter_errors(document)] == []
    assert not validator.is_valid({"apiVersion": "tidegate.test/v1", "tests": [{"nam": "a"}]})
