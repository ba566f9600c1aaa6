"""Turnstile: its verification call, over a socket, against what stands in for it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import attrs
import pytest
from tests.server.challenges.siteverify import HOSTNAME, SECRET, Siteverify, siteverify

from tidegate_server.challenge.provider import ProviderUnavailableError
from tidegate_server.challenge.turnstile import MAX_TOKEN, Turnstile

CHALLENGE = UUID(int=7)
GOOD = f"good tidegate {CHALLENGE.hex}"


@pytest.fixture(scope="module")
def verifying() -> Iterator[Siteverify]:
    """The stand-in."""
    with siteverify() as made:
        yield made


@pytest.fixture
def turnstile(verifying: Siteverify) -> Turnstile:
    """The provider with keys."""
    return Turnstile("a site key", SECRET, verifying.url, HOSTNAME)


def is_solution(turnstile: Turnstile, token: str) -> bool:
    parameters = turnstile.issue(CHALLENGE, 4, 0)
    return turnstile.is_solution(parameters, CHALLENGE, token, "192.0.2.7")


def test_a_token_counts_when_the_call_says_so(verifying: Siteverify, turnstile: Turnstile) -> None:
    """The call gets secret, token and address, and a key of its own."""
    assert is_solution(turnstile, GOOD)
    form = verifying.asked[-1]
    assert (form["secret"], form["response"]) == (SECRET, GOOD)
    assert form["remoteip"] == "192.0.2.7"
    assert UUID(form["idempotency_key"]).version == 4


@pytest.mark.parametrize(
    "token",
    [
        f"bad tidegate {CHALLENGE.hex}",
        f"good elsewhere {CHALLENGE.hex}",
        f"good tidegate {UUID(int=8).hex}",
        f"elsewhere tidegate {CHALLENGE.hex}",
        "good",
    ],
)
def test_a_token_of_another_challenge_does_not_count(turnstile: Turnstile, token: str) -> None:
    """Refused by the call, of another action, another challenge, a page elsewhere, of none."""
    assert not is_solution(turnstile, token)


def test_without_a_known_name_a_page_of_any_counts(turnstile: Turnstile) -> None:
    """Where the service has no public address."""
    anywhere = attrs.evolve(turnstile, hostname="")
    assert is_solution(anywhere, f"elsewhere tidegate {CHALLENGE.hex}")


@pytest.mark.parametrize("token", ["", "x" * (MAX_TOKEN + 1)])
def test_what_is_no_token_is_not_asked_about(
    verifying: Siteverify, turnstile: Turnstile, token: str
) -> None:
    """Nothing, and more than a token has."""
    before = len(verifying.asked)
    assert not is_solution(turnstile, token)
    assert len(verifying.asked) == before


@pytest.mark.parametrize(
    ("token", "change"),
    [
        (GOOD, {"verify_url": "http://127.0.0.1:9/"}),
        (GOOD, {"secret": "wrong"}),
        ("away", {}),
        ("list", {}),
        ("failing", {}),
    ],
)
def test_nobody_knows_when_the_call_fails(
    turnstile: Turnstile, token: str, change: dict[str, str]
) -> None:
    """Nobody listens, the secret is wrong, the answer cannot be read, is a list, is a 503."""
    with pytest.raises(ProviderUnavailableError):
        is_solution(attrs.evolve(turnstile, **change), token)


def test_a_slow_answer_is_not_waited_for(
    verifying: Siteverify, turnstile: Turnstile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call has an end; the visitor can try again, and the token counts then."""
    monkeypatch.setattr("tidegate_server.challenge.turnstile.SECONDS", 0.2)
    token = f"slow tidegate {CHALLENGE.hex}"
    with pytest.raises(ProviderUnavailableError):
        is_solution(turnstile, token)
    monkeypatch.undo()
    verifying.is_over.set()
    assert is_solution(turnstile, token)


def test_keys_are_needed() -> None:
    """Without keys no browser can pass."""
    assert "challenge.turnstile_secret" in (Turnstile("", "").why_unusable("https://a.test") or "")
    assert Turnstile("a", "b").why_unusable("https://a.test") is None
