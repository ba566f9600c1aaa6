"""A client of pygls that starts ``tidegate lsp`` and speaks with it over its standard streams."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

URI = "file:///shop.yaml"
SECONDS = 60


class Client:
    """One open document."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.text = ""
        self.version = 0
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.messages: asyncio.Queue[lsp.ShowMessageParams] = asyncio.Queue()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        @client.feature(lsp.WINDOW_SHOW_MESSAGE)
        def show(params: lsp.ShowMessageParams) -> None:
            self.messages.put_nowait(params)

    def open(self, text: str) -> None:
        self.text = text
        document = lsp.TextDocumentItem(URI, "yaml", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))

    def change(self, start: lsp.Position, end: lsp.Position, text: str) -> None:
        """Replace a part of the text."""
        self.version += 1
        part = lsp.TextDocumentContentChangePartial(lsp.Range(start, end), text)
        document = lsp.VersionedTextDocumentIdentifier(self.version, URI)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [part]))

    async def findings(self, until: Callable[[list[lsp.Diagnostic]], bool]) -> list[lsp.Diagnostic]:
        """The first findings of the present text that fit."""
        while True:
            found = await asyncio.wait_for(self.published.get(), SECONDS)
            if found.version == self.version and until(list(found.diagnostics)):
                return list(found.diagnostics)

    def place(self, marked: str) -> dict[str, Any]:
        """The document, and the place of ``|`` in a part of the text that occurs once."""
        before, _, after = marked.partition("|")
        assert self.text.count(before + after) == 1, marked
        offset = self.text.index(before + after) + len(before)
        lines = self.text[:offset].split("\n")
        units = len(lines[-1].encode("utf-16-le")) // 2
        return {
            "text_document": lsp.TextDocumentIdentifier(URI),
            "position": lsp.Position(len(lines) - 1, units),
        }

    async def complete(self, marked: str) -> list[lsp.CompletionItem]:
        params = lsp.CompletionParams(**self.place(marked))
        found = await self.client.text_document_completion_async(params)
        assert isinstance(found, lsp.CompletionList)
        return list(found.items)

    async def hover(self, marked: str) -> str:
        found = await self.client.text_document_hover_async(lsp.HoverParams(**self.place(marked)))
        if found is None:
            return ""
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """A text after edits, by the rules of the protocol, written apart from the server's."""
    data = text.encode("utf-16-le")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode("utf-16-le")))

    def at(position: lsp.Position) -> int:
        return starts[position.line] + 2 * position.character

    for each in sorted(edits, key=lambda each: at(each.range.start), reverse=True):
        end = at(each.range.end)
        data = data[: at(each.range.start)] + each.new_text.encode("utf-16-le") + data[end:]
    return data.decode("utf-16-le")


@asynccontextmanager
async def started(*options: str, settings: object = None) -> AsyncIterator[Client]:
    """A server, initialized, and its client; it ends as the protocol says."""
    client = LanguageClient("tests", "1")
    made = Client(client)
    await client.start_io(sys.executable, "-m", "tidegate", "lsp", *options)
    try:
        await client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), initialization_options=settings)
        )
        client.initialized(lsp.InitializedParams())
        yield made
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await asyncio.wait_for(client.stop(), SECONDS)


def run(work: Callable[[Client], Coroutine[Any, Any, None]], *options: str, **more: Any) -> None:
    """Run a coroutine with a client."""

    async def both() -> None:
        async with started(*options, **more) as client:
            await work(client)

    asyncio.run(asyncio.wait_for(both(), SECONDS))
