"""``tidegate lsp`` as a client meets it, over standard input and output."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp
from tests.lsp.client import Client, run
from tests.lsp.documents import SHOP

pytestmark = pytest.mark.usefixtures("process")


def test_findings_have_their_place_code_and_link() -> None:
    """A misspelt field is marked where it stands, with its code, its hint and a link."""

    async def work(client: Client) -> None:
        client.open(SHOP.replace("request.method", "request.metod"))
        (found,) = await client.findings(bool)
        assert found.code == "unknown-field"
        assert found.severity == lsp.DiagnosticSeverity.Error
        assert "did you mean" in found.message
        assert found.code_description is not None
        assert (found.range.start, found.range.end) == (
            lsp.Position(8, 16),
            lsp.Position(8, 29),
        )

    run(work)


def test_fields_are_completed_in_a_document_that_is_broken() -> None:
    """An open bracket above the cursor leaves completions as they are."""

    async def work(client: Client) -> None:
        client.open(SHOP)
        await client.findings(lambda _: True)
        text = SHOP.replace("actions.login\n", "request.met\n").replace("[login]", "[login")
        client.text = text
        client.change(lsp.Position(0, 0), lsp.Position(99, 0), text)
        found = await client.complete("request.met|\n")
        assert [each.label for each in found] == ["request.method"]

    run(work)


def test_hover_shows_type_and_meaning() -> None:
    """A field under the pointer has its type and a sentence."""

    async def work(client: Client) -> None:
        client.open(SHOP)
        shown = await client.hover("request.meth|od")
        assert "request.method: string" in shown
        assert "in upper case" in shown

    run(work)
