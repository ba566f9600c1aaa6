"""Checks open documents on a thread of its own; of each only the last text counts."""

from __future__ import annotations

from threading import Condition, Thread
from typing import TYPE_CHECKING

import attrs

from tidegate.lsp.analysis import Analysis, check, is_definitions, linted, read

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE_SECONDS = 0.2
"""After a key, so that the checks of a quick writer don't take the time of the answers."""


@attrs.frozen
class Job:
    """A text to check."""

    uri: str
    version: int | None
    text: str


class Checker:
    """Checks the last text of each document.

    Args:
        report: called on the checker's thread with a job and its findings, and again with
            those that take longer; not for a text that has been replaced.
        fail: called there with a job whose check failed, which is a bug in this library.
    """

    def __init__(
        self, report: Callable[[Job, Analysis], None], fail: Callable[[Job, Exception], None]
    ) -> None:
        self._report = report
        self._fail = fail
        self._waiting: dict[str, Job] = {}
        self._known: dict[str, Analysis] = {}
        self._change = Condition()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="checker", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End, without waiting for the text that is being checked."""
        with self._change:
            self._is_closed = True
            self._change.notify()

    def ask(self, job: Job) -> None:
        """Check a text in place of an earlier one of the same document."""
        with self._change:
            self._waiting[job.uri] = job
            self._change.notify()

    def forget(self, uri: str) -> None:
        """Drop what is known of a document that was closed."""
        with self._change:
            self._waiting.pop(uri, None)
            self._known.pop(uri, None)

    def known(self, uri: str) -> Analysis:
        """The analysis of a document, perhaps of an earlier text."""
        return self._known.get(uri) or Analysis("")

    def known_of(self, uri: str, text: str) -> Analysis:
        """The analysis of this text; its tree and objects are read now if need be."""
        last = self.known(uri)
        if last.text == text:
            return last
        found, _ = read(text, last)
        return attrs.evolve(found, compilation=last.compilation)

    def _run(self) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._is_closed:
                    self._change.wait()
                while self._change.wait(PAUSE_SECONDS) and not self._is_closed:
                    pass  # another key
                if self._is_closed:
                    return
                if not self._waiting:
                    continue
                job = self._waiting.pop(next(iter(self._waiting)))
            try:
                self._check(job)
            except Exception as error:  # a mistake of ours in one text must not end all checks
                self._fail(job, error)

    def _check(self, job: Job) -> None:
        last = self._known.get(job.uri)
        if not is_definitions(job.text):
            self._keep(job, read(job.text, last)[0], is_shown=False)
            return
        found, parsed = read(job.text, last)
        if parsed is None:
            kept = None if last is None else last.compilation
            self._keep(job, attrs.evolve(found, compilation=kept), is_shown=True)
            return
        checked = check(found, parsed, last)
        if checked.compilation is None and last is not None:
            # The expressions that were checked before a mistake are still worth keeping.
            checked = attrs.evolve(checked, compilation=last.compilation)
            self._keep(job, checked, is_shown=True)
        elif self._keep(job, checked, is_shown=True) and checked.compilation is not None:
            self._keep(job, linted(checked, parsed), is_shown=True)

    def _keep(self, job: Job, found: Analysis, *, is_shown: bool) -> bool:
        """Keep and report what was found; False if there is a newer text."""
        with self._change:
            is_last = job.uri not in self._waiting
            self._known[job.uri] = found
        if is_last:
            self._report(job, found if is_shown else attrs.evolve(found, findings=()))
        return is_last
