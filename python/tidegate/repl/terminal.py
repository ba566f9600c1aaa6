"""The line that is typed: history, completion and colours, by prompt_toolkit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.lexers import Lexer

from tidegate.editing.completion import complete
from tidegate.language.tree.schema import Schema
from tidegate.lsp.events import Events
from tidegate.policy.definitions.expressions import Names

COMMANDS = (":back", ":event", ":help", ":line ", ":next", ":quit")
_TOKENS = re.compile(
    r"(?P<ansigreen>[rRbB]{0,2}(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?))"
    r"|(?P<ansicyan>\b(?:true|false|null|in|[0-9][\w.]*)\b)"
    r"|(?P<ansiblue>[A-Za-z_]\w*(?=\())"
    r"|(?P<ansibrightblack>//.*)"
)


class _Completions(Completer):
    """Fields, functions, and the names in the maps of the events."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._schema = Schema.default()
        self._names = Names(frozenset(), frozenset())

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Completions at the cursor."""
        del complete_event
        before = document.text_before_cursor
        if before.startswith(":"):
            known = (each for each in COMMANDS if each.startswith(before))
            yield from (Completion(each, -len(before)) for each in known)
            return
        start, found = complete(before, self._schema, self._names, lambda: self._events.captured)
        for each in found:
            meaning = each.detail or each.type or each.kind
            yield Completion(each.insert, start - len(before), each.label, meaning)


class _Colours(Lexer):
    """Texts, numbers, calls and comments, also in an expression that isn't finished."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The coloured parts of each line."""

        def of_line(number: int) -> StyleAndTextTuples:
            line, at = document.lines[number], 0
            parts: StyleAndTextTuples = []
            for found in _TOKENS.finditer(line):
                parts.append(("", line[at : found.start()]))
                parts.append((str(found.lastgroup), found[0]))
                at = found.end()
            return [*parts, ("", line[at:])]

        return of_line


class Terminal:
    """Reads lines from the terminal of this process.

    Args:
        events: whose names are completed.
        history: the file of earlier lines, to which lines are added; None keeps them in memory.
    """

    def __init__(self, events: Events, history: Path | None) -> None:
        kept = InMemoryHistory() if history is None else FileHistory(str(history))
        self._session: PromptSession[str] = PromptSession(
            history=kept,
            completer=_Completions(events),
            lexer=_Colours(),
            auto_suggest=AutoSuggestFromHistory(),
            complete_while_typing=False,
        )

    def read(self, prompt: str) -> str:
        """The next line; an empty one after Ctrl-C.

        Raises:
            EOFError: Ctrl-D.
        """
        try:
            return self._session.prompt(prompt)
        except KeyboardInterrupt:
            return ""
