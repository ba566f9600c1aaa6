"""``tidegate schema``: the JSON Schema of a document, for editors."""

from __future__ import annotations

from typing import Literal, TypeAlias

import click

from tidegate.cli.output import print_json
from tidegate.policy.definitions.model import API_VERSION, Definitions
from tidegate.policy.document.schema import schema_of
from tidegate.testing.policies import model as tests

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Kind: TypeAlias = Literal["definitions", "tests"]
DOCUMENTS = {
    "definitions": (Definitions, API_VERSION, "A Tidegate definitions document"),
    "tests": (tests.Document, tests.API_VERSION, "Tests of Tidegate policies"),
}


@click.command()
@click.argument("kind", type=click.Choice(list(DOCUMENTS)), default="definitions")
def schema(kind: Kind) -> None:
    """Print the JSON Schema of definitions documents or of tests, for an editor.

    A document that doesn't fit is refused by `tidegate check`, which finds more: names that don't
    exist, expressions that don't compile.
    """
    model, version, title = DOCUMENTS[kind]
    print_json({"$schema": DIALECT, "title": title, **schema_of(model, version)})
