"""The page and its one call, for one person on this machine.

A page of another site can't call it: the host, the origin and the token are checked.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

import anyio
import anyio.to_process
import attrs
import msgspec
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tidegate_server.console.pages import file_response
from tidegate_server.http.headers import CONSOLE_HEADERS, DATA_HEADERS, FILE_HEADERS
from tidegate_server.play.evaluation import Question, evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from tidegate_server.console.files import Asset, Assets

MAX_BODY = 4 * 1024 * 1024
SECONDS = 10.0
"""The longest time of an evaluation; its process is then ended."""


@attrs.frozen
class Play:
    """The parts of the application.

    Attributes:
        assets: of the console's build.
        page: the file of the page.
        hosts: the values of `Host` that reach it.
        token: the secret in the printed address.
        start: the texts that the page begins with.
        seconds: the longest time of an evaluation.
    """

    assets: Assets
    page: Asset
    hosts: Sequence[str]
    token: str = attrs.field(repr=False)
    start: Question
    seconds: float = SECONDS
    _turn: anyio.CapacityLimiter = attrs.field(factory=lambda: anyio.CapacityLimiter(1))

    def application(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                Route("/", self._page),
                Route("/console/assets/{name}", self._asset),
                Route("/start", self._start),
                Route("/evaluate", self._evaluate, methods=["POST"]),
            ]
        )

    def _refused(self, request: Request, *, is_call: bool) -> Response | None:
        host = request.headers.get("host", "").lower()
        if host not in self.hosts:
            return _problem(421, "this host name isn't the page's; use the printed address")
        if request.headers.get("origin", f"http://{host}") != f"http://{host}":
            return _problem(403, "pages of other origins may not call this page")
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if is_call and not hmac.compare_digest(given.encode(), self.token.encode()):
            return _problem(401, "open the address that `tidegate play` printed")
        return None

    async def _page(self, request: Request) -> Response:
        refused = self._refused(request, is_call=False)
        headers = dict(request.scope["headers"])
        return refused or file_response(self.page, headers, CONSOLE_HEADERS)

    async def _asset(self, request: Request) -> Response:
        refused = self._refused(request, is_call=False)
        found = self.assets.named.get(request.path_params["name"])
        if refused is not None or found is None:
            return refused or _problem(404, "file not found")
        return file_response(found, dict(request.scope["headers"]), FILE_HEADERS)

    async def _start(self, request: Request) -> Response:
        refused = self._refused(request, is_call=True)
        return refused or _data(msgspec.json.encode(self.start))

    async def _evaluate(self, request: Request) -> Response:
        refused = self._refused(request, is_call=True)
        if refused is not None:
            return refused
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > MAX_BODY:
                return _problem(413, f"definitions and events may have {MAX_BODY:,} bytes")
        try:
            question = msgspec.json.decode(bytes(content), type=Question)
            async with self._turn:
                with anyio.fail_after(self.seconds):
                    answer = await anyio.to_process.run_sync(evaluate, question, cancellable=True)
        except TimeoutError:
            return _problem(422, f"the evaluation took more than {self.seconds:g} s and was ended")
        except anyio.BrokenWorkerProcess:
            return _problem(422, "the evaluation ended without a result")
        except MemoryError:
            return _problem(422, "the evaluation needed too much memory")
        except (msgspec.MsgspecError, ValueError) as error:
            return _problem(422, str(error))
        return _data(answer)


def _data(content: bytes) -> Response:
    return Response(content, headers=DATA_HEADERS, media_type="application/json")


def _problem(status: int, detail: str) -> Response:
    return JSONResponse({"detail": detail}, status, DATA_HEADERS)
