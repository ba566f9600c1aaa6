"""``tidegate lsp`` as a client meets it, over standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from tests.lsp.client import URI, Client, applied, run
from tests.lsp.documents import SHOP

from tidegate.policy.document import format_document, read_document

if TYPE_CHECKING:
    from pathlib import Path

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


COMPLETED = [
    ("request.met|\n", "actions.login\n", {"request.method"}),
    ("actions.|\n", "actions.login\n", {"actions.login"}),
    ("request.path.startsW|\n", "actions.login\n", {"startsWith", "startsWithAny"}),
    ("        entity: |\n", "        entity: account\n", {"account"}),
    ("mitigation: ref|\n", "mitigation: refuse\n", {"refuse"}),
    ("actions: [|]", "actions: [login]", {"login"}),
    ('inList("of|")', 'inList("offices")', {"offices"}),
    ("mode: |\n", "mode: Block\n", {"Monitor", "Challenge", "Block"}),
    ("threshold: 3, mea|}", "threshold: 3}", {"measure", "field"}),
]


@pytest.mark.parametrize(("marked", "before", "labels"), COMPLETED)
def test_names_are_completed(marked: str, before: str, labels: set[str]) -> None:
    """Fields, functions, slugs, lists, members and values are offered at their places."""

    async def work(client: Client) -> None:
        client.open(SHOP)
        await client.findings(lambda _: True)
        client.text = SHOP.replace(before, marked.replace("|", ""))
        client.change(lsp.Position(0, 0), lsp.Position(99, 0), client.text)
        assert {each.label for each in await client.complete(marked)} >= labels

    run(work)


def test_a_completion_in_a_quoted_value_is_escaped() -> None:
    """A slug of a list within double quotes of YAML keeps the document valid."""

    async def work(client: Client) -> None:
        text = SHOP.replace(
            "expression: entity.event_count > 3", r'expression: "source.inList(\"of"'
        )
        client.open(SHOP)
        await client.findings(lambda _: True)
        client.text = text
        client.change(lsp.Position(0, 0), lsp.Position(99, 0), text)
        (found,) = await client.complete(r'inList(\"of|"')
        assert isinstance(found.text_edit, lsp.TextEdit)
        assert r'source.inList(\"offices\""' in applied(text, [found.text_edit])

    run(work)


def test_values_of_events_are_completed_and_explained(tmp_path: Path) -> None:
    """With a file of events, completions have its values, and hovers the value in one event."""
    events = tmp_path / "events.jsonl"
    events.write_text(
        '{"request": {"method": "POST", "path": "/login", "client_ip": "192.0.2.1"}}\n'
        '{"request": {"method": "GET", "path": "/", "client_ip": "192.0.2.1"}}\n'
    )

    async def work(client: Client) -> None:
        client.open(SHOP)
        await client.findings(lambda _: True)
        assert 'In event 1: `"POST"`' in await client.hover("request.meth|od ==")
        shown = await client.hover("request.method =|= ")
        assert "The expression in event 1: `true`" in shown
        client.text = SHOP.replace('"POST"', '"P"')
        client.change(lsp.Position(0, 0), lsp.Position(99, 0), client.text)
        assert [each.label for each in await client.complete('== "P|"')] == ['"POST"']

    run(work, settings={"events": str(events), "event": 1})


def test_events_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    """A setting that can't be used is a message to the user, and the server goes on."""

    async def work(client: Client) -> None:
        client.open(SHOP)
        message = await client.messages.get()
        assert "can't be used" in message.message
        assert "request.path" in {each.label for each in await client.complete("request.pa|th ==")}

    run(work, settings={"events": str(tmp_path / "none.jsonl")})


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_slug_is_renamed_with_all_references(ending: str) -> None:
    """A rename of an action whose slug is its name's writes the slug, and changes both uses."""
    text = SHOP.replace("\n", ending)

    async def work(client: Client) -> None:
        client.open(text)
        params = client.place("actions: [lo|gin]")
        found = await client.client.text_document_rename_async(
            lsp.RenameParams(**params, new_name="sign_in")
        )
        assert found is not None
        assert found.changes is not None
        made = applied(text, list(found.changes[next(iter(found.changes))]))
        assert f"- name: Login{ending}    slug: sign_in{ending}" in made
        assert "actions: [sign_in]" in made
        assert "      actions.sign_in" in made
        assert read_document(made).compiled.source.actions[0].slug == "sign_in"
        with pytest.raises(JsonRpcException, match="lower-case"):
            await client.client.text_document_rename_async(
                lsp.RenameParams(**params, new_name="Sign in")
            )

    run(work)


def test_a_list_is_renamed_in_an_escaped_expression() -> None:
    """A use within double quotes of YAML, after characters of two units, is found where it is."""
    written = (
        r'''expression: "\"\U0001f600😀\" != source && request.client_ip.inList(\"offices\")"'''
    )
    text = SHOP.replace("expression: entity.event_count > 3", written)

    async def work(client: Client) -> None:
        client.open(text)
        params = client.place(r"inList(\"off|ices\")" + '"')
        found = await client.client.text_document_rename_async(
            lsp.RenameParams(**params, new_name="hq")
        )
        assert found is not None
        assert found.changes is not None
        made = applied(text, list(found.changes[next(iter(found.changes))]))
        assert made.count('"hq"') == 1
        assert r"inList(\"hq\")" in made
        assert "offices" not in made
        read_document(made)

    run(work)


def test_definitions_and_references_are_found() -> None:
    """A use of an action leads to its definition, and the definition to its uses."""

    async def work(client: Client) -> None:
        client.open(SHOP)
        place = client.place("actions.log|in\n")
        defined = await client.client.text_document_definition_async(lsp.DefinitionParams(**place))
        assert isinstance(defined, lsp.Location)
        assert defined.range == lsp.Range(lsp.Position(6, 10), lsp.Position(6, 15))
        uses = await client.client.text_document_references_async(
            lsp.ReferenceParams(**place, context=lsp.ReferenceContext(False))
        )
        assert uses is not None
        assert [each.range.start.line for each in uses] == [20, 25]

    run(work)


def test_a_finding_is_fixed() -> None:
    """A misspelt name is replaced by the one that the finding's hint names."""
    text = SHOP.replace("request.method", "request.metod").replace(
        "entity: account", "entity: acount"
    )

    async def work(client: Client) -> None:
        client.open(text)
        found = await client.findings(bool)
        edits = []
        for each in found:
            params = lsp.CodeActionParams(
                lsp.TextDocumentIdentifier(URI), each.range, lsp.CodeActionContext([each])
            )
            (action,) = await client.client.text_document_code_action_async(params) or []
            assert isinstance(action, lsp.CodeAction)
            assert action.edit is not None
            assert action.edit.changes is not None
            edits += list(action.edit.changes[URI])
        assert len(edits) == 2
        assert applied(text, edits) == SHOP

    run(work)


def test_a_document_is_formatted_as_the_command_does() -> None:
    """The edits make the text of ``tidegate fmt``."""
    text = SHOP.replace('request.method == "POST" &&', 'request.method=="POST"&&')

    async def work(client: Client) -> None:
        client.open(text)
        found = await client.client.text_document_formatting_async(
            lsp.DocumentFormattingParams(
                lsp.TextDocumentIdentifier(URI), lsp.FormattingOptions(2, True)
            )
        )
        assert found
        assert applied(text, list(found)) == format_document(text).text

    run(work)


def test_other_yaml_has_no_findings() -> None:
    """A file without ``apiVersion: tidegate/…`` isn't checked."""

    async def work(client: Client) -> None:
        client.open("services:\n  web: {image: nginx}\n")
        assert await client.findings(lambda _: True) == []

    run(work)


def test_the_last_text_wins() -> None:
    """After many quick changes, the findings are those of the last text."""

    async def work(client: Client) -> None:
        client.open(SHOP)
        at = lsp.Position(8, 16)
        for letter in "abcdefgh":
            client.change(at, at, letter)
        found = await client.findings(bool)
        assert "hgfedcbarequest" in found[0].message

    run(work)
