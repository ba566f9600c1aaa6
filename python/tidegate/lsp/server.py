"""The language server: what clients ask, answered from the parts of this folder."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from tidegate.errors import TidegateError
from tidegate.lsp.analysis import MARK
from tidegate.lsp.checker import Checker, Job
from tidegate.lsp.completion import TRIGGERS, completions
from tidegate.lsp.edits import (
    RenameError,
    definition,
    fixes,
    formatted,
    references,
    rename,
    slug_at,
)
from tidegate.lsp.events import Events
from tidegate.lsp.hover import hover
from tidegate.lsp.text import Text

if TYPE_CHECKING:
    from tidegate.lsp.analysis import Analysis
    from tidegate.lsp.events import Explained
    from tidegate.policy.definitions.findings import Finding

SOURCE = "tidegate"
CHOOSE_EVENT = "tidegate.chooseEvent"
MAX_DIAGNOSTICS = 1_000
PAGE = "https://github.com/OWNER/tidegate/blob/main/docs/findings.md"
SWITCH_SECONDS = 0.0001
"""How long the checker's thread may hold the interpreter while an answer waits; Python's own 0.005
would show as a delay after each key."""
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
}


@attrs.frozen
class Settings:
    """The settings that a client may send.

    Attributes:
        events: a file of events, for values and explanations; empty for none.
        event: the number of the event that hovers explain, from 1; 0 is the last one.
    """

    events: str = ""
    event: int = 0

    def changed(self, given: object) -> Settings:
        """The settings with those of a client, which may have them under ``tidegate``."""
        found = given.get(SOURCE, given) if isinstance(given, dict) else None
        if not isinstance(found, dict):
            return self
        events, event = found.get("events", self.events), found.get("event", self.event)
        if not isinstance(events, str) or not isinstance(event, int) or event < 0:
            raise TidegateError("`events` is the name of a file, `event` a number from 0")
        return Settings(events, event)


class Server(LanguageServer):
    """The server of one client."""

    def __init__(self, events: str = "") -> None:
        super().__init__("tidegate", version("tidegate"), max_workers=2)
        self.settings = Settings(events)
        self.given: object = None
        """The settings that the client began with."""
        self.texts: dict[str, Text] = {}
        self.checker = Checker(self._checked, self._failed)
        self._events: Events | None = None
        self._explained: tuple[object, int, Explained | None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, given: object) -> None:
        """Take the client's settings, and start to check."""
        self._loop = asyncio.get_running_loop()
        sys.setswitchinterval(SWITCH_SECONDS)
        self.checker.start()
        self.set(given)

    def set(self, given: object) -> None:
        """Take settings; those that can't be used are refused with a message to the user."""
        before = self.settings
        try:
            self.settings = before.changed(given)
            if self._events is None or self.settings.events != before.events:
                self._events = self._read_events()
        except (OSError, TidegateError) as error:
            self._tell(f"The settings can't be used: {error}")
        self._explained = None

    def _read_events(self) -> Events | None:
        if not self.settings.events:
            return None
        found = Events.from_file(self._path(self.settings.events))
        if found.refused:
            self._tell(f"{found.refused:,} lines of {self.settings.events} were refused")
        return found

    def _path(self, name: str) -> Path:
        root = self.workspace.root_path
        return Path(root, name) if root else Path(name)

    def _tell(self, message: str) -> None:
        self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, message))

    @property
    def events(self) -> Events | None:
        """The events, if the client has chosen a file."""
        return self._events

    def explained(self, analysis: Analysis) -> Explained | None:
        """The chosen event, explained by the definitions of an analysis."""
        compilation = analysis.compilation
        if self._events is None or compilation is None:
            return None
        number = self.settings.event
        kept = self._explained
        if kept is None or kept[0] is not compilation or kept[1] != number:
            kept = (compilation, number, self._events.explained(compilation, number))
            self._explained = kept
        return kept[2]

    def text(self, uri: str) -> Text:
        """The text of an open document; empty if it isn't open."""
        return self.texts.get(uri) or Text("")

    def ask(self, uri: str, version_: int | None) -> None:
        """Check the text of a document."""
        self.checker.ask(Job(uri, version_, self.text(uri).text))

    def _checked(self, job: Job, found: Analysis) -> None:
        text = Text(job.text)
        shown = [self._diagnostic(job.uri, text, found, each) for each in found.findings]
        if len(shown) > MAX_DIAGNOSTICS:
            message = f"{len(shown) - MAX_DIAGNOSTICS:,} more findings: `tidegate lint` shows all"
            note = lsp.Diagnostic(text.range(0, 0), message, lsp.DiagnosticSeverity.Information)
            shown = [note, *shown[:MAX_DIAGNOSTICS]]
        params = lsp.PublishDiagnosticsParams(job.uri, shown, job.version)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.text_document_publish_diagnostics, params)

    def _failed(self, job: Job, error: Exception) -> None:
        message = f"{job.uri} couldn't be checked, which is a bug in Tidegate: {error!r}"
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell, message)

    def _diagnostic(
        self, uri: str, text: Text, found: Analysis, finding: Finding
    ) -> lsp.Diagnostic:
        span = found.span(finding)
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(uri, text.range(each.offset, each.offset + 1)), each.message
            )
            for each in finding.second
            if each.offset is not None
        ]
        hint = f"\n{finding.hint}" if finding.hint else ""
        return lsp.Diagnostic(
            text.range(span.start, span.end),
            finding.message + hint,
            _SEVERITIES[finding.severity],
            code=finding.code,
            code_description=lsp.CodeDescription(PAGE),
            source=SOURCE,
            related_information=related or None,
        )


def make_server(events: str = "") -> Server:
    """A server with all its features.

    Args:
        events: a file of events, until a client sets another.
    """
    server = Server(events)
    _add_documents(server)
    _add_questions(server)
    _add_edits(server)
    return server


def _add_documents(server: Server) -> None:
    @server.feature(lsp.INITIALIZED)
    def initialized(_: lsp.InitializedParams) -> None:
        server.begin(server.given)

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.given = params.initialization_options

    @server.feature(lsp.SHUTDOWN)
    def shutdown(_: Any) -> None:
        server.checker.close()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configure(params: lsp.DidChangeConfigurationParams) -> None:
        server.set(params.settings)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.texts[document.uri] = Text(document.text.removeprefix(MARK))
        server.ask(document.uri, document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = server.text(uri)
        for each in params.content_changes:
            text = text.changed(each)
        server.texts[uri] = text
        server.ask(uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.texts.pop(uri, None)
        server.checker.forget(uri)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _add_questions(server: Server) -> None:
    options = lsp.CompletionOptions(trigger_characters=list(TRIGGERS))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, options)
    def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        text = server.text(params.text_document.uri)
        known = server.checker.known(params.text_document.uri)
        return completions(text, text.offset(params.position), known, server.events)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    @server.thread()
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        text, known = _of(server, params.text_document.uri)
        return hover(text, text.offset(params.position), known, server.explained(known))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    @server.thread()
    def defined(params: lsp.DefinitionParams) -> lsp.Location | None:
        text, known = _of(server, params.text_document.uri)
        found = definition(text, text.offset(params.position), known)
        return None if found is None else lsp.Location(params.text_document.uri, found)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    @server.thread()
    def used(params: lsp.ReferenceParams) -> list[lsp.Location]:
        text, known = _of(server, params.text_document.uri)
        found = references(text, text.offset(params.position), known)
        return [lsp.Location(params.text_document.uri, each) for each in found]

    @server.command(CHOOSE_EVENT)
    def choose_event(number: int) -> None:
        server.set({"event": number})


def _add_edits(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    @server.thread()
    def format_(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        return formatted(server.text(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    @server.thread()
    def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        text, known = _of(server, params.text_document.uri)
        found = slug_at(text, text.offset(params.position), known)
        if found is None:
            return None
        return lsp.PrepareRenamePlaceholder(text.range(found.start, found.end), found.named.slug)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    @server.thread()
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        uri = params.text_document.uri
        text, known = _of(server, uri)
        try:
            edits = rename(text, text.offset(params.position), params.new_name, known)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        return lsp.WorkspaceEdit(changes={uri: edits})

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])
    )
    def fix(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        text, known = server.text(uri), server.checker.known(uri)
        if known.text != text.text:
            return []
        return [
            lsp.CodeAction(
                title,
                lsp.CodeActionKind.QuickFix,
                edit=lsp.WorkspaceEdit(changes={uri: [edit]}),
                is_preferred=True,
            )
            for title, edit, _ in fixes(text, known, params.range)
        ]


def _of(server: Server, uri: str) -> tuple[Text, Analysis]:
    text = server.text(uri)
    return text, server.checker.known_of(uri, text.text)
