"""Fetches documents from servers of the public internet alone, and sends documents to them.

A URL may be written by a tenant, and its name may lead anywhere. So the addresses that a name has
are looked up once and checked, and the connection is made to one of these addresses.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from socket import SOCK_STREAM, gaierror
from typing import TypeAlias

import attrs
import httpx2

from tidegate.fetching.exchange import FetchError, exchange, trusted
from tidegate.functions.addresses import contains, is_public, sent_address
from tidegate.values import Address, Network

SECONDS = 20.0
"""Time for one document, with its redirects."""
_CONNECT_SECONDS = 5.0
MAX_REDIRECTS = 3
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host's name, as texts."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, by the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


@attrs.frozen(kw_only=True)
class Fetcher:
    """Fetches and sends documents over HTTPS.

    Attributes:
        max_bytes: the most bytes of a document.
        allowed: networks that may be connected to although they aren't public.
        resolve: looks up names.
        tls: the certificates to trust; the system's by default.
        seconds: time for one document.
    """

    max_bytes: int
    allowed: Collection[Network] = ()
    resolve: Resolve = resolve
    tls: ssl.SSLContext | None = attrs.field(default=None, repr=False)
    seconds: float = SECONDS

    async def fetch(self, url: str, accepts: Callable[[str], bool]) -> bytes:
        """Return the content of a document.

        Args:
            url: its address.
            accepts: tells whether it may be of a media type; one without a type may always be.

        Raises:
            FetchError: it can't be had, or not safely; the code says why.
        """
        try:
            async with asyncio.timeout(self.seconds):
                answer = await self._follow(_parsed(url))
        except TimeoutError:
            detail = f"no whole answer in {self.seconds:.0f} s"
            raise FetchError("source-timed-out", detail) from None
        if answer.status_code != httpx2.codes.OK:
            raise FetchError("source-bad-status", f"the answer has status {answer.status_code}")
        media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type and not accepts(media_type):
            raise FetchError("source-wrong-type", f"the answer is of type `{media_type}`")
        return answer.content

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> int:
        """Send a document, and return the status of the answer; no redirect is followed.

        Args:
            url: the address of the receiver.
            content: the document.
            headers: of the request, with the document's type.

        Raises:
            FetchError: nothing answered, or the address isn't allowed; the code says why.
        """
        try:
            async with asyncio.timeout(self.seconds), self._transport() as transport:
                answer = await self._ask(transport, "POST", _parsed(url), headers, content)
        except TimeoutError:
            raise FetchError("source-timed-out", f"no answer in {self.seconds:.0f} s") from None
        return answer.status_code

    def _transport(self) -> httpx2.AsyncHTTPTransport:
        return httpx2.AsyncHTTPTransport(verify=self.tls or trusted(), trust_env=False)

    async def _follow(self, url: httpx2.URL) -> httpx2.Response:
        async with self._transport() as transport:
            for _ in range(MAX_REDIRECTS + 1):
                answer = await self._ask(transport, "GET", url, {"accept": "*/*"})
                if not answer.has_redirect_location:
                    return answer
                target = _target(url, answer.headers.get("location", ""))
                if (target.host, _port(target)) != (url.host, _port(url)):
                    detail = f"the source redirects to another host, `{target.host}`"
                    raise FetchError("source-redirects-elsewhere", detail)
                url = target
        raise FetchError("source-redirects-too-often", f"more than {MAX_REDIRECTS} redirects")

    async def _ask(
        self,
        transport: httpx2.AsyncBaseTransport,
        method: str,
        url: httpx2.URL,
        headers: Mapping[str, str],
        content: bytes | None = None,
    ) -> httpx2.Response:
        """Answer of the first of a host's addresses that a connection can be made to."""
        failure: FetchError | None = None
        for address in await self._addresses(url):
            request = httpx2.Request(
                method,
                url.copy_with(host=str(address)),
                headers={"host": url.netloc.decode("ascii"), **headers},
                content=content,
                extensions={
                    # The certificate is checked for the name, not for the address.
                    "sni_hostname": url.raw_host.decode("ascii"),
                    "timeout": {"connect": _CONNECT_SECONDS},
                },
            )
            try:
                return await exchange(
                    transport, request, self.seconds, self.max_bytes, needs_end=content is None
                )
            except FetchError as error:
                if error.code != "source-unreachable":
                    raise
                failure = error
        raise failure or FetchError("source-unreachable", f"`{url.host}` has no address")

    async def _addresses(self, url: httpx2.URL) -> list[Address]:
        """Addresses of a URL's host, all of which may be connected to."""
        try:
            texts = await self.resolve(url.raw_host.decode("ascii"), _port(url))
        except (gaierror, UnicodeError, OSError) as error:
            detail = f"the name `{url.host}` can't be looked up: {error}"
            raise FetchError("source-unreachable", detail) from None
        found = []
        for text in texts:
            address = sent_address(text)
            if address is None or not self._may_connect(address):
                detail = f"`{url.host}` has the address {text}, which isn't public"
                raise FetchError("source-address-not-public", detail)
            found.append(address)
        return found

    def _may_connect(self, address: Address) -> bool:
        return is_public(address) or any(contains(each, address) for each in self.allowed)


def _parsed(url: str) -> httpx2.URL:
    try:
        found = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise FetchError("source-unreachable", f"the address is invalid: {error}") from None
    if found.scheme != "https" or not found.host or found.userinfo:
        raise FetchError("source-not-https", f"`{url}` isn't an https address")
    return found


def _target(url: httpx2.URL, location: str) -> httpx2.URL:
    try:
        return _parsed(str(url.join(location)))
    except (httpx2.InvalidURL, ValueError) as error:
        raise FetchError("source-damaged", f"the redirect is damaged: {error}") from None


def _port(url: httpx2.URL) -> int:
    return url.port or 443
