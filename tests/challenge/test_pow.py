"""Proof of work: what solves a challenge, and what does not."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from uuid import UUID

import altcha
import pytest

from tidegate_server.challenge.pow import MAX_SOLUTION, ProofOfWork, mean_keys

CHALLENGE = UUID(int=7)
POW = ProofOfWork(bytes(range(32)))


def issued(difficulty: int = 1, lifetime: int = 600) -> dict[str, Any]:
    """A new challenge."""
    return dict(POW.issue(CHALLENGE, difficulty, int(time.time()) + lifetime))


def solved(parameters: dict[str, Any]) -> altcha.Payload:
    """A browser's solution of a challenge."""
    challenge = altcha.Challenge.from_dict(parameters)
    solution = altcha.solve_challenge(challenge)
    assert solution is not None
    return altcha.Payload(challenge, solution)


def is_solution(parameters: dict[str, Any], text: str) -> bool:
    return POW.is_solution(parameters, CHALLENGE, text, "")


def test_a_solution_solves_its_own_challenge_alone() -> None:
    """A solution of one challenge is wrong for the next."""
    first, second = issued(), issued()
    text = solved(first).to_base64()
    assert is_solution(first, text)
    assert not is_solution(second, text)


def test_what_the_payload_says_of_the_challenge_does_not_count() -> None:
    """A lighter challenge in the payload makes nothing of a solution for it."""
    asked = issued(2)
    lighter = altcha.create_challenge("SHA-256", 1, key_prefix="", hmac_secret="own").to_dict()
    forged = solved(lighter)
    assert not is_solution(asked, forged.to_base64())
    forged.challenge = altcha.Challenge.from_dict(asked)
    assert not is_solution(asked, forged.to_base64())


def test_a_challenge_says_how_hard_it_is_and_until_when() -> None:
    """Both are signed; a changed one is solved by nothing."""
    asked = issued(3)
    parameters = asked["parameters"]
    assert parameters["data"] == {"challenge": str(CHALLENGE), "difficulty": 3}
    text = solved(issued()).to_base64()
    for change in ({"expiresAt": 2**40}, {"cost": 1}, {"data": {}}):
        assert not is_solution({**asked, "parameters": {**parameters, **change}}, text)
    over = issued(lifetime=-1)
    assert not is_solution(over, solved(over).to_base64())


def test_each_difficulty_takes_twice_the_work() -> None:
    """On average each difficulty doubles the work; one challenge takes half to one and a half of
    it."""
    assert [mean_keys(difficulty) for difficulty in (1, 2, 10)] == [8, 16, 4_096]
    for _ in range(20):
        assert 4 <= solved(issued()).solution.counter <= 12


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "x",
        "e30=",
        "[]",
        "x" * (MAX_SOLUTION + 1),
        base64.b64encode(b"[" * 3_000).decode(),
        *(
            base64.b64encode(json.dumps(each).encode()).decode()
            for each in (
                None,
                [],
                {"challenge": {}, "solution": {}},
                {"challenge": None, "solution": None},
                {"challenge": 1, "solution": {"counter": 1, "derivedKey": 1}},
            )
        ),
    ],
)
def test_no_payload_brings_it_down(payload: str) -> None:
    """Whatever a form sends is a solution or not."""
    assert is_solution(issued(), payload) is False


@pytest.mark.parametrize("counter", [-1, 2**32, 1.5, "1", None, True, 10**400])
def test_no_solution_brings_it_down(counter: object) -> None:
    """Members of every type, in place of a number and a key."""
    asked = issued()
    for key in ("00" * 32, "zz", 5, None):
        solution = {"counter": counter, "derivedKey": key}
        text = json.dumps({"challenge": asked, "solution": solution})
        assert not is_solution(asked, base64.b64encode(text.encode()).decode())
