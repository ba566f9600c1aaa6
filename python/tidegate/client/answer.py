"""An HTTP response."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import attrs
import orjson

from tidegate.client.errors import ClientError, UnexpectedAnswerError, service_error
from tidegate.client.retries import retry_after


@attrs.frozen
class Answer:
    """Status, headers (names in lower case) and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_replayed(self) -> bool:
        """Whether the idempotency key had been used before."""
        return self.headers.get("idempotency-replayed") == "true"

    def json(self) -> Any:
        """The body of a successful response.

        Raises:
            ClientError: it wasn't successful, or the body isn't JSON.
        """
        if not 200 <= self.status < 300:
            raise self._error()
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise self.unexpected("the answer is no JSON") from None

    def unexpected(self, message: str) -> UnexpectedAnswerError:
        """The error for a response that the service would not send."""
        return UnexpectedAnswerError(message, self.status)

    def _error(self) -> ClientError:
        if self.status < 400:
            return self.unexpected("a redirect is not followed: give the final address")
        problem = None
        if self.headers.get("content-type", "").startswith("application/problem+json"):
            with contextlib.suppress(orjson.JSONDecodeError):
                problem = orjson.loads(self.body)
        return service_error(self.status, problem, retry_after(self.headers))
