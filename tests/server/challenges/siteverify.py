"""A substitute for Turnstile: its verification call on a socket, and its widget in a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import parse_qs

import attrs

SECRET = "a secret of turnstile"
HOSTNAME = "gate.example.com"
KEYS = {"challenge_turnstile_site_key": "a site key", "challenge_turnstile_secret": SECRET}
WIDGET = """
window.turnstile = {
  render(place, options) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Turnstile";
    place.append(button);
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = options["response-field-name"];
    field.value = `${window.token ?? "good"} ${options.action} ${options.cdata}`;
    place.append(field);
    button.onclick = () => options.callback(field.value);
    if (!window.waits) options.callback(field.value);
  },
};
"""
"""Gives a token that says what the verification is to answer, for which challenge."""


@attrs.frozen
class Siteverify:
    """The running stand-in.

    Attributes:
        asked: the forms it was sent.
        is_over: set when whoever waits for a slow answer is to get it.
    """

    url: str
    asked: list[dict[str, str]] = attrs.field(factory=list)
    is_over: Event = attrs.field(factory=Event)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a service that asks here."""
        return {"challenge_turnstile_verify_url": self.url}

    def answer(self, form: dict[str, str]) -> bytes:
        """The answer of the call; the token determines it."""
        self.asked.append(form)
        if form.get("secret") != SECRET:
            return json.dumps({"success": False, "error-codes": ["invalid-input-secret"]}).encode()
        said, _, rest = form.get("response", "").partition(" ")
        action, _, cdata = rest.partition(" ")
        if said == "away":
            return b"not JSON"
        if said == "list":
            return b"[]"
        if said not in ("good", "elsewhere", "slow"):
            codes = ["timeout-or-duplicate"]
            return json.dumps({"success": False, "error-codes": codes}).encode()
        hostname = "evil.example" if said == "elsewhere" else HOSTNAME
        found = {"success": True, "action": action, "cdata": cdata, "hostname": hostname}
        return json.dumps(found).encode()


@contextmanager
def siteverify() -> Iterator[Siteverify]:
    """A stand-in on a port of its own, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            form = {
                name: each[0] for name, each in parse_qs(self.rfile.read(length).decode()).items()
            }
            content = made.answer(form)
            said = form.get("response", "").partition(" ")[0]
            if said == "slow":
                made.is_over.wait(60)
            self.send_response(503 if said == "failing" else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            with suppress(BrokenPipeError):  # who asked waits no longer
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Siteverify(f"http://127.0.0.1:{server.server_port}/turnstile/v0/siteverify")
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        made.is_over.set()
        server.shutdown()
        server.server_close()
