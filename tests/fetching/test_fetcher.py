"""Documents that others publish: what is fetched, and what is refused."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from tests.publisher import HOST, Page, Publisher, publishing

from tidegate.fetching import Fetcher, FetchError
from tidegate.functions.addresses import parse_range
from tidegate.values import Network

BODY = b'{"prefixes": []}'
MAX_BYTES = 1_000


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    """A publisher for the tests of this file."""
    with publishing(tmp_path_factory.mktemp("publisher")) as running:
        yield running


@pytest.fixture
def fetcher(publisher: Publisher) -> Fetcher:
    """Trusts the publisher, and may connect to loopback."""
    return Fetcher(
        max_bytes=MAX_BYTES,
        allowed=[_network("127.0.0.0/8")],
        resolve=_resolver("127.0.0.1"),
        tls=publisher.tls,
        seconds=10,
    )


def _network(text: str) -> Network:
    found = parse_range(text)
    assert found is not None
    return found


def _resolver(*addresses: str) -> Any:
    async def resolve(_host: str, _port: int) -> list[str]:
        return list(addresses)

    return resolve


def _moved(location: str) -> Page:
    return Page(status=302, headers={"location": location})


def fetch(fetcher: Fetcher, url: str) -> bytes:
    return asyncio.run(fetcher.fetch(url, lambda each: each == "application/json"))


def refusal(fetcher: Fetcher, url: str) -> str:
    with pytest.raises(FetchError) as refused:
        fetch(fetcher, url)
    return refused.value.code


def test_a_document_is_fetched_over_https(publisher: Publisher, fetcher: Fetcher) -> None:
    """The certificate is checked for the name of the URL, and the content is complete."""
    publisher.pages["/ranges.json"] = Page(BODY)
    assert fetch(fetcher, publisher.url("/ranges.json")) == BODY
    assert refusal(fetcher, publisher.url("/ranges.json", "other.test")) == "source-unreachable"


def test_redirects_are_followed_on_the_same_host(publisher: Publisher, fetcher: Fetcher) -> None:
    """A document may move on its host, a few times."""
    publisher.pages["/old"] = Page(status=302, headers={"location": "/older/../new"})
    publisher.pages["/new"] = Page(status=301, headers={"location": publisher.url("/newest")})
    publisher.pages["/newest"] = Page(BODY)
    assert fetch(fetcher, publisher.url("/old")) == BODY


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (Page(b"", status=500), "source-bad-status"),
        (Page(b"", status=204), "source-bad-status"),
        (_moved("http://lists.test/"), "source-not-https"),
        (_moved("//evil.test/"), "source-redirects-elsewhere"),
        (_moved("https://lists.test/"), "source-redirects-elsewhere"),
        (_moved("https://127.0.0.1:1/"), "source-redirects-elsewhere"),
        (_moved("https://[::/"), "source-damaged"),
        (_moved("/bad"), "source-redirects-too-often"),
        (Page(b"x" * (MAX_BYTES + 1)), "source-too-large"),
        (Page(b"x" * (MAX_BYTES + 1), {"content-length": None}), "source-too-large"),
        (Page(gzip.compress(BODY), {"content-encoding": "gzip"}), "source-packed"),
        (Page(BODY, {"content-encoding": "br"}), "source-packed"),
        (Page(BODY, {"content-length": "900"}), "source-damaged"),
        (Page(BODY, {"content-length": None, "transfer-encoding": "chunked"}), "source-damaged"),
        (Page(BODY, {"content-length": None}), "source-damaged"),
        (Page(BODY, {"content-length": "-1"}), "source-damaged"),
        (Page(BODY, {"content-type": "text/html; charset=utf-8"}), "source-wrong-type"),
        (Page(BODY, {"content-type": "image/png"}), "source-wrong-type"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_an_answer_that_cannot_be_relied_on_is_refused(
    publisher: Publisher, fetcher: Fetcher, page: Page, code: str
) -> None:
    """Each kind of misbehaviour has a code."""
    publisher.pages["/bad"] = page
    assert refusal(fetcher, publisher.url("/bad")) == code


def test_an_answer_that_never_ends_is_given_up(publisher: Publisher, fetcher: Fetcher) -> None:
    """The time limit is for the whole document, however slowly it comes."""
    publisher.pages["/hangs"] = Page(BODY, hangs=True)
    impatient = attrs.evolve(fetcher, seconds=0.5)
    assert refusal(impatient, publisher.url("/hangs")) == "source-timed-out"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "::1", "10.0.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "::", "fe80::1%2", "fd00::1", "::ffff:127.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "255.255.255.255", "192.0.2.1",
    ],
)  # fmt: skip
def test_no_connection_is_made_to_an_address_that_is_not_public(
    publisher: Publisher, fetcher: Fetcher, address: str
) -> None:
    """One such address is enough, whatever other addresses the name has."""
    publisher.asked.clear()
    for addresses in ((address,), ("1.1.1.1", address), (address, "1.1.1.1")):
        careful = attrs.evolve(fetcher, allowed=(), resolve=_resolver(*addresses))
        assert refusal(careful, publisher.url("/ranges.json")) == "source-address-not-public"
    assert not publisher.asked


def test_a_name_is_looked_up_once_for_each_request(publisher: Publisher, fetcher: Fetcher) -> None:
    """The checked address is the one that is connected to: a second look-up can't replace it."""
    answers = iter([["127.0.0.1"]])

    async def resolve(_host: str, _port: int) -> list[str]:
        return next(answers)

    publisher.pages["/ranges.json"] = Page(BODY)
    once = attrs.evolve(fetcher, resolve=resolve)
    assert fetch(once, publisher.url("/ranges.json")) == BODY


def test_a_redirect_is_looked_up_and_checked_again(publisher: Publisher, fetcher: Fetcher) -> None:
    """A name that leads elsewhere the second time is refused then."""
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])

    async def resolve(_host: str, _port: int) -> list[str]:
        return next(answers)

    publisher.pages["/again"] = Page(status=302, headers={"location": "/ranges.json"})
    rebound = attrs.evolve(fetcher, resolve=resolve)
    assert refusal(rebound, publisher.url("/again")) == "source-address-not-public"


def test_the_next_address_is_tried_where_none_answers(
    publisher: Publisher, fetcher: Fetcher
) -> None:
    """A name may have an address that nothing listens at."""
    publisher.pages["/ranges.json"] = Page(BODY)
    two = attrs.evolve(fetcher, resolve=_resolver("127.0.0.9", "127.0.0.1"))
    assert fetch(two, publisher.url("/ranges.json")) == BODY
    none = attrs.evolve(fetcher, resolve=_resolver())
    assert refusal(none, publisher.url("/ranges.json")) == "source-unreachable"


@pytest.mark.parametrize(
    "url", ["http://lists.test/a", "file:///etc/passwd", "https://u:p@lists.test/", "https:///a"]
)
def test_another_address_than_a_plain_https_one_is_refused(fetcher: Fetcher, url: str) -> None:
    """Nothing is looked up for it."""
    assert refusal(fetcher, url) == "source-not-https"


def test_an_address_in_numbers_is_checked_too(publisher: Publisher) -> None:
    """The system's resolver returns it as it is, in each of its spellings."""
    own = Fetcher(max_bytes=MAX_BYTES, tls=publisher.tls)
    for host in ("127.0.0.1", "[::1]", "localhost", "2130706433", "0x7f.1"):
        found = refusal(own, f"https://{host}:{publisher.port}/")
        assert found == "source-address-not-public", host
    publisher.pages["/ranges.json"] = Page(BODY)
    mirror = attrs.evolve(own, allowed=[_network("127.0.0.1")])
    assert fetch(mirror, publisher.url("/ranges.json", "127.0.0.1")) == BODY
    assert HOST not in publisher.asked


def test_a_document_is_sent_without_following_a_redirect(
    fetcher: Fetcher, publisher: Publisher
) -> None:
    """The status of the answer is returned, and a redirect leads nowhere."""
    publisher.statuses["/moved"] = 302
    headers = {"content-type": "application/json", "webhook-id": "1"}
    for path, status in (("/hook", 204), ("/moved", 302)):
        assert asyncio.run(fetcher.post(publisher.url(path), BODY, headers)) == status
    assert [(each.path, each.body) for each in publisher.taken] == [
        ("/hook", BODY),
        ("/moved", BODY),
    ]
    assert publisher.taken[0].headers["webhook-id"] == "1"


def test_a_document_is_sent_to_public_addresses_alone(
    fetcher: Fetcher, publisher: Publisher
) -> None:
    """An address that isn't public is refused before a connection is made."""
    publisher.taken.clear()
    guarded = attrs.evolve(fetcher, allowed=())
    for url, code in (
        (publisher.url("/hook"), "source-address-not-public"),
        ("http://lists.test/hook", "source-not-https"),
    ):
        with pytest.raises(FetchError) as refused:
            asyncio.run(guarded.post(url, BODY, {}))
        assert refused.value.code == code
    assert publisher.taken == []
