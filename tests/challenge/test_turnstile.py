"""Turnstile: its verification call, over a socket, against what stands in for it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import attrs
import pytest
from tests.server.challenges.siteverify import SECRET, Siteverify, siteverify

from tidegate.challenge.provider import ProviderUnavailableError
from tidegate.challenge.turnstile import MAX_TOKEN, Turnstile

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
    return Turnstile("a site key", SECRET, verifying.url)


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
        "good",
    ],
)
def test_a_token_of_another_challenge_does_not_count(turnstile: Turnstile, token: str) -> None:
    """Refused by the call, of another action, of another challenge, of none."""
    assert not is_solution(turnstile, token)


@pytest.mark.parametrize("token", ["", "x" * (MAX_TOKEN + 1)])
def test_what_is_no_token_is_not_asked_about(
    verifying: Siteverify, turnstile: Turnstile, token: str
) -> None:
    """Nothing, and more than a token has."""
    before = len(verifying.asked)
    assert not is_solution(turnstile, token)
    assert len(verifying.asked) == before


@pytest.mark.parametrize("change", [{"verify_url": "http://127.0.0.1:9/"}, {"secret": "wrong"}, {}])
def test_nobody_knows_when_the_call_fails(turnstile: Turnstile, change: dict[str, str]) -> None:
    """Nobody listens, the secret is wrong, or the answer cannot be read."""
    token = GOOD if change else "away"
    with pytest.raises(ProviderUnavailableError):
        is_solution(attrs.evolve(turnstile, **change), token)


def test_keys_are_needed() -> None:
    """Without them no browser can pass."""
    assert "challenge.turnstile_secret" in (Turnstile("", "").why_unusable("https://a.test") or "")
    assert Turnstile("a", "b").why_unusable("https://a.test") is None
