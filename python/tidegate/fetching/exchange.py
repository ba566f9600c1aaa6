"""One request and its complete answer, within limits."""

from __future__ import annotations

import asyncio
import ssl
from functools import cache

import httpx2

from tidegate.errors import TidegateError

_AGENT = "tidegate"


class FetchError(TidegateError):
    """No usable answer came.

    Attributes:
        code: one of the stable codes that ``tidegate explain-code`` knows.
        detail: what happened, as part of a sentence.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{detail} [{code}]")
        self.code = code
        self.detail = detail


@cache
def trusted() -> ssl.SSLContext:
    """The system's certificates; reading them takes a while, once."""
    return ssl.create_default_context()


async def exchange(
    transport: httpx2.AsyncBaseTransport,
    request: httpx2.Request,
    seconds: float,
    most: int,
    *,
    needs_end: bool = False,
) -> httpx2.Response:
    """Send a request and read the whole answer.

    Args:
        transport: sends the request.
        request: what is sent; its encodings and agent are set here.
        seconds: time from the connection to the last byte.
        most: the most bytes of the answer's content.
        needs_end: whether an answer that doesn't say where it ends is refused: part of one would
            pass for the whole.

    Raises:
        FetchError: ``source-timed-out``, ``source-unreachable``, ``source-damaged``,
            ``source-too-large``, ``source-packed``.
    """
    # Uncompressed content can't expand.
    request.headers["accept-encoding"] = "identity"
    request.headers["user-agent"] = _AGENT
    try:
        async with asyncio.timeout(seconds):
            answer = await transport.handle_async_request(request)
            try:
                content = await _bounded(answer, most)
            finally:
                await answer.aclose()
    except (TimeoutError, httpx2.TimeoutException):
        raise FetchError("source-timed-out", f"no whole answer in {seconds:.0f} s") from None
    except httpx2.ProtocolError as error:
        raise FetchError("source-damaged", f"the answer is damaged: {error}") from None
    except (httpx2.TransportError, OSError) as error:
        detail = f"no connection: {error or type(error).__name__}"
        raise FetchError("source-unreachable", detail) from None
    if needs_end and not answer.headers.keys() & {"content-length", "transfer-encoding"}:
        raise FetchError("source-damaged", "the answer doesn't say where it ends")
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise FetchError("source-packed", "the answer is packed, which wasn't asked for")
    return httpx2.Response(
        answer.status_code, headers=answer.headers, content=content, request=request
    )


async def _bounded(answer: httpx2.Response, most: int) -> bytes:
    parts, size = [], 0
    async for part in answer.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > most:
            raise FetchError("source-too-large", f"the answer has more than {most:,} bytes")
    return b"".join(parts)
