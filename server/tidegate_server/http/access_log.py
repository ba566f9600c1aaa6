"""Log lines about requests: the control plane's, refusals, and a sample of decisions.

A refused caller can ask again at once, so the lines about refusals are limited: a log that a
stranger can fill is a way to fill the disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tidegate_server.logging import log
from tidegate_server.stores.decision_log.lines import trace_id_in

if TYPE_CHECKING:
    from tidegate_server.http.given import Given, Sent
    from tidegate_server.stores.decision_log.lines import LogBlock

MAX_REFUSALS = 50
"""Refusals per second that get a line; the next line says how many got none."""
SAMPLE_SECONDS = 10.0


class AccessLog:
    """Writes log lines about requests.

    Args:
        sample_seconds: seconds between two decisions that get a line; 0 for no lines.
        words: segments of the routes' paths. Only these and ids are written of a path: anything
            else may be a misplaced secret.
        monotonic: seconds of a monotonic clock.
    """

    def __init__(
        self,
        sample_seconds: float = SAMPLE_SECONDS,
        words: Collection[str] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sample_seconds = sample_seconds
        self._words = frozenset(words)
        self._monotonic = monotonic
        self._second = 0
        self._lines = 0
        self._passed_over = 0
        self._sampled_at = monotonic()
        self._decisions = 0

    def control(self, method: str, given: Given, sent: Sent, started: float) -> None:
        """Log one answer of the control plane.

        Args:
            method: the request's.
            given: the known facts about the request.
            sent: the answer.
            started: when the request came, by the clock.
        """
        is_refusal = sent.status >= HTTPStatus.BAD_REQUEST
        members: dict[str, Any] = {
            "method": method,
            "path": self._shown(given.path),
            "status": sent.status,
            "duration_ms": round((self._monotonic() - started) * 1000, 1),
            "address": given.address,
            "request_id": given.request_id,
        }
        if not is_refusal:
            log.info("request", **members)
        elif self._may_write():
            log.info("refusal", **members, code=sent.code, **self._counted())

    def hot_refusal(
        self,
        path: str,
        status: int,
        code: str,
        request_id: str,
        trace_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Log a refused hot call.

        Args:
            trace_id: of the caller's trace, if any.
            reason: detail beyond the code, if any; mostly a misconfigured proxy, so it is a
                warning.
        """
        if self._may_write():
            write = log.info if reason is None else log.warning
            write(
                "refusal",
                method="POST",
                path=path,
                status=status,
                code=code,
                request_id=request_id,
                **in_trace(trace_id),
                **({} if reason is None else {"reason": reason}),
                **self._counted(),
            )

    def logged_in(self, provider: str, operator_id: UUID, request_id: str) -> None:
        """Log an operator's login at an identity provider."""
        log.info("login", provider=provider, operator_id=str(operator_id), request_id=request_id)

    def login_refused(self, provider: str, reason: str, request_id: str) -> None:
        """Log a failed login at an identity provider; the browser learns less than this."""
        if self._may_write():
            log.info(
                "login refused",
                provider=provider,
                reason=reason,
                request_id=request_id,
                **self._counted(),
            )

    def decided(self, blocks: Sequence[LogBlock]) -> None:
        """Log the last of the committed decisions now and then."""
        if not self._sample_seconds or not blocks:
            return
        self._decisions += sum(block.count for block in blocks)
        now = self._monotonic()
        if now - self._sampled_at < self._sample_seconds:
            return
        last = blocks[-1]
        log.info(
            "decision",
            tenant_id=str(last.tenant_id),
            decision_id=str(UUID(bytes=last.last_id)),
            **in_trace(trace_id_in(last.lines)),
            decisions=self._decisions,
            seconds=round(now - self._sampled_at, 1),
        )
        self._sampled_at, self._decisions = now, 0

    def now(self) -> float:
        """Return the clock's time, in seconds."""
        return self._monotonic()

    def _shown(self, path: str) -> str:
        segments = path.split("/")
        return "/".join(each if each in self._words or _is_id(each) else "*" for each in segments)

    def _may_write(self) -> bool:
        second = int(self._monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines > MAX_REFUSALS:
            self._passed_over += 1
        return self._lines <= MAX_REFUSALS

    def _counted(self) -> dict[str, int]:
        """Return how many refusals got no line, if any."""
        passed_over, self._passed_over = self._passed_over, 0
        return {"refusals_without_a_line": passed_over} if passed_over else {}


def in_trace(trace_id: str | None) -> dict[str, str]:
    """Return the member that names a trace in a log line; none without a trace."""
    return {} if trace_id is None else {"trace_id": trace_id}


def _is_id(segment: str) -> bool:
    try:
        return not segment or str(UUID(segment)) == segment
    except ValueError:
        return False
