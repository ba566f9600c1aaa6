"""An issuer of OpenID Connect on this machine, which does what it is asked to, right or wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs
from joserfc import jws
from joserfc.jwk import RSAKey

CLIENT_ID = "tidegate-test"
SECRET = "a secret of the client"
KEY = RSAKey.generate_key(2048, parameters={"kid": "first"})
OTHER_KEY = RSAKey.generate_key(2048, parameters={"kid": "other"})


@attrs.define
class Reply:
    """The issuer's answer."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=lambda: {"content-type": "application/json"})
    pause: threading.Event | None = None
    """Waited for before the body is sent."""


def reply(value: Any, status: int = 200) -> Reply:
    """A reply in JSON."""
    return Reply(json.dumps(value).encode(), status)


@attrs.define
class Issuer:
    """The issuer; each of its parts can be replaced.

    Attributes:
        changed: what is sent in place of the right reply, by path.
        claims: changes of the claims of ID tokens.
        token: makes the ID token of its claims.
        asked: how often each path was asked for.
    """

    origin: str = ""
    changed: dict[str, Callable[[Reply], Reply]] = attrs.field(factory=dict)
    claims: dict[str, Any] = attrs.field(factory=dict)
    token: Callable[[dict[str, Any]], str] = attrs.field(default=lambda claims: signed(claims))
    asked: Counter[str] = attrs.field(factory=Counter)
    sent: list[dict[str, str]] = attrs.field(factory=list)
    """The forms that the token endpoint was sent."""
    _subject: Any = "ann"
    """The subject of the last ID token."""
    _codes: dict[str, dict[str, str]] = attrs.field(factory=dict)

    def reset(self) -> None:
        """Do everything right again."""
        self.changed, self.claims, self.token = {}, {}, lambda claims: signed(claims)
        self.asked.clear()
        self.sent.clear()

    def authorize(self, url: str) -> dict[str, str]:
        """The parameters that the browser of somebody who logs in here brings back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        code = f"code-{len(self._codes)}-{time.monotonic_ns()}"
        self._codes[code] = asked
        return {"code": code, "state": asked["state"], "iss": self.origin}

    def answer(self, path: str, form: Mapping[str, str]) -> Reply:
        """The right reply, or what takes its place."""
        self.asked[path] += 1
        right = {
            "/.well-known/openid-configuration": self._discovery,
            "/keys": lambda _: reply({"keys": [KEY.as_dict(private=False)]}),
            "/token": self._tokens,
            "/userinfo": lambda _: reply({"sub": self._subject}),
        }.get(path, lambda _: reply({}, 404))(form)
        return self.changed.get(path, lambda each: each)(right)

    def _discovery(self, _: Mapping[str, str]) -> Reply:
        return reply(
            {
                "issuer": self.origin,
                "authorization_endpoint": f"{self.origin}/authorize",
                "token_endpoint": f"{self.origin}/token",
                "jwks_uri": f"{self.origin}/keys",
                "userinfo_endpoint": f"{self.origin}/userinfo",
                "authorization_response_iss_parameter_supported": True,
            }
        )

    def _tokens(self, form: Mapping[str, str]) -> Reply:
        self.sent.append(dict(form))
        asked = self._codes.get(form.get("code", ""))
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != challenge:
            return reply({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.origin,
            "sub": "ann",
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "email": "ann@example.test",
            "email_verified": True,
            "name": "Ann",
        }
        kept = {**claims, **self.claims}
        claims = {name: value for name, value in kept.items() if value is not None}
        self._subject = claims.get("sub")
        return reply(
            {
                "access_token": "an access token",
                "token_type": "Bearer",
                "id_token": self.token(claims),
            }
        )


def signed(claims: Any, key: Any = KEY, **header: Any) -> str:
    """An ID token; claims that are bytes are its payload as it is."""
    payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    given = {"alg": "RS256", "kid": "first", **header}
    members = {name: value for name, value in given.items() if value is not None}
    return jws.serialize_compact(members, payload, key, registry=_Anything())


def unsigned(claims: dict[str, Any], header: dict[str, Any], signature: bytes = b"") -> str:
    """A token that is put together by hand."""
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in parts)


def confused(claims: dict[str, Any]) -> str:
    """A token under HS256, whose secret is the issuer's public key as everybody can read it."""
    header = {"alg": "HS256", "kid": "first"}
    content = unsigned(claims, header).removesuffix(".").encode()
    return unsigned(claims, header, hmac.digest(KEY.as_pem(private=False), content, "sha256"))


class _Anything(jws.JWSRegistry):
    """Writes any header, also what no reader may accept."""

    def __init__(self) -> None:
        super().__init__(algorithms=["RS256", "PS256"], strict_check_header=False)

    def check_header(self, header: dict[str, Any], *_: Any) -> None:
        """Nothing is wrong."""


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer, until the block ends."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(issuer.answer(urlsplit(self.path).path, {}))

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(content).items()}
            self._send(issuer.answer(self.path, form))

        def _send(self, made: Reply) -> None:
            try:
                self.send_response(made.status)
                for name, value in made.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if made.pause is not None:
                    made.pause.wait(30)
                self.wfile.write(made.body)
            except OSError:
                pass  # the caller had enough

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    issuer.origin = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
