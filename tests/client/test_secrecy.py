"""The key: where it goes, and where it never shows."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import logging
import ssl
import traceback
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.client.scripted import ScriptedServer, Step, cut, cut_midway, hang, problem, reply
from tests.client.worlds import QuickTime, world

from tidegate import AsyncClient, Client
from tidegate.client import Backoff
from tidegate.client.errors import ClientError, UnexpectedAnswerError, UnreachableError

KEY = "tg_prefix_verysecretpart"


def everything_of(error: BaseException) -> str:
    """The data that a tracker of errors takes: texts, attributes and frames of the whole chain."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    texts = list(shown.format())
    chain: BaseException | None = error
    while chain is not None:
        texts.append(repr(vars(chain)))
        chain = chain.__cause__ or chain.__context__
    return "".join(texts)


@pytest.mark.parametrize(
    "step", [cut, cut_midway, hang, problem(401, "unauthenticated"), reply(302, {}), reply(200, 1)]
)
def test_the_key_shows_in_no_error_and_no_log(
    server: ScriptedServer, step: Step, caplog: pytest.LogCaptureFixture
) -> None:
    """The key is in no error and no log line, however a call fails."""
    caplog.set_level(logging.DEBUG)
    server.always = step
    calls = Client(
        server.base_url, KEY, timeout=0.1, backoff=Backoff(attempts=1), world=world(QuickTime())
    )
    with calls, pytest.raises(ClientError) as caught:
        calls.decide(fields={"a": "b"})
    assert server.received[0].headers["x-service-api-key"] == KEY
    assert caplog.records
    assert KEY not in everything_of(caught.value)
    assert KEY not in "".join(f"{record.getMessage()}{record.args}" for record in caplog.records)


def test_the_key_shows_in_no_text_of_a_client() -> None:
    """The key is in no text of a client, nor in the error for a malformed key."""
    with Client("https://t.test/base/", KEY) as calls:
        assert repr(calls) == "<tidegate.client.client.Client https://t.test/base>"
        assert KEY not in repr(vars(calls))
    assert KEY not in repr(AsyncClient("https://t.test", KEY))
    for bad in (KEY + "\r\n", KEY + " x", "", "é" + KEY):
        with pytest.raises(ValueError, match="visible ASCII") as caught:
            Client("https://t.test", bad)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(server: ScriptedServer, status: int) -> None:
    """The key goes to the address it was given for, and nowhere else."""
    with ScriptedServer() as elsewhere:
        server.always = reply(status, {}, location=f"{elsewhere.base_url}/api/v1")
        with (
            Client(server.base_url, KEY, world=world(QuickTime())) as calls,
            pytest.raises(UnexpectedAnswerError) as caught,
        ):
            calls.decide(fields={"a": "b"})
        assert caught.value.status == status
        assert not elsewhere.received


@pytest.mark.parametrize(
    "address",
    [
        "ftp://t.test",
        "t.test",
        "https://",
        "https://user:word@t.test",
        "https://t.test/?a=b",
        "https://t.test/#a",
        "http://t.test",
        "http://192.0.2.1:8080",
        "http://localhost.t.test",
    ],
)
def test_addresses_that_would_expose_the_key_are_refused(address: str) -> None:
    """Plain HTTP is for this machine, unless it is asked for."""
    with pytest.raises(ValueError, match="base_url"):
        Client(address, KEY)


@pytest.mark.parametrize("address", ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:1"])
def test_plain_http_reaches_this_machine(address: str) -> None:
    """Plain HTTP reaches this machine, for development and for a proxy next to the application."""
    Client(address, KEY).close()
    Client("http://tidegate:8080", KEY, allow_http=True).close()


def test_the_environment_has_no_say(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No proxy is taken from it: the key would pass through there."""
    with ScriptedServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url)
        with Client(server.base_url, KEY) as calls:
            calls.decide(fields={"a": "b"})
        assert (len(server.received), len(proxy.received)) == (1, 0)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "here.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def secured(certificate: Path) -> ssl.SSLContext:
    """The server's side of TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


def test_a_certificate_is_always_verified(secured: ssl.SSLContext, certificate: Path) -> None:
    """A server with an untrusted certificate gets no request; one the caller trusts does."""
    with ScriptedServer(tls=secured) as server:
        with (
            Client(server.base_url, KEY, world=world(QuickTime())) as calls,
            pytest.raises(UnreachableError, match=r"(?i)certificate"),
        ):
            calls.decide(fields={"a": "b"})
        assert not server.received
        trust = ssl.create_default_context(cafile=certificate)
        with Client(server.base_url, KEY, tls=trust) as calls:
            assert calls.decide(fields={"a": "b"}).action.type == "allow"


def test_verification_cannot_be_turned_off() -> None:
    """A context that verifies less is refused."""
    careless = ssl.create_default_context()
    careless.check_hostname = False
    with pytest.raises(ValueError, match="must verify"):
        Client("https://t.test", KEY, tls=careless)
    careless.verify_mode = ssl.CERT_NONE
    with pytest.raises(ValueError, match="must verify"):
        Client("https://t.test", KEY, tls=careless)


def test_an_endless_answer_is_not_kept(server: ScriptedServer) -> None:
    """The memory of a caller is not in the hands of what answers."""

    async def flood(_received: object, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\ncontent-length: 1000000000\r\n\r\n")
        while True:
            writer.write(b"x" * 1_000_000)
            await writer.drain()

    server.always = flood
    backoff = Backoff(attempts=1)
    with (
        Client(server.base_url, KEY, timeout=30, backoff=backoff) as calls,
        pytest.raises(UnexpectedAnswerError, match="too large"),
    ):
        calls.decide(fields={"a": "b"})
