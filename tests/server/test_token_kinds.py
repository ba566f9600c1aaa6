"""Five kinds of secrets that callers hold, and what reads them: no kind is taken for another."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from tidegate.policy.proofs import ChallengeContext, ProofKeys
from tidegate_server.http.cursor import Cursors
from tidegate_server.operators.key_ring import ApiKey, KeyRing, make_key
from tidegate_server.operators.tokens import Tokens

KEY = b"0123456789abcdef0123456789abcdef"
"""One key for all purposes: kinds must differ by more than their keys."""
NOW, SECOND = 1_800_000_000, 10**9
TENANT, ID = UUID(int=1), UUID(int=2)
PROOFS, CURSORS = ProofKeys(TENANT, KEY, KEY), Cursors(KEY)
OPERATORS = Tokens(KEY, "tidegate")
CLIENT = PROOFS.client("192.0.2.7", "curl")
MADE = make_key(bytes(range(42)), KEY)
RING = KeyRing(KEY)
RING.replace([ApiKey(ID, TENANT, MADE.prefix, 60, ((MADE.secret_hash, None),))])

TOKENS = {
    "operator": OPERATORS.issue(ID, NOW),
    "proof": PROOFS.mint(ID, ID, NOW * SECOND, (NOW + 60) * SECOND, CLIENT),
    "sealed": urlsafe_b64encode(PROOFS.seal(ID, ChallengeContext("https://a.test", CLIENT)))
    .decode()
    .rstrip("="),
    "cursor": CURSORS.seal(["a"], "list"),
    "api-key": MADE.text,
}


def opened(text: str) -> ChallengeContext | None:
    return PROOFS.open(ID, urlsafe_b64decode(text + "=" * (-len(text) % 4)))


READERS: dict[str, Callable[[str], Any]] = {
    "operator": lambda text: OPERATORS.read(text, NOW),
    "proof": lambda text: PROOFS.read(text, NOW * SECOND).status == "valid",
    "sealed": opened,
    "cursor": lambda text: CURSORS.open(text, "list"),
    "api-key": lambda text: RING.find(text.encode(), NOW * SECOND),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", TOKENS)
def test_only_the_diagonal_passes(kind: str, reader: str) -> None:
    """Each of five readers takes its own kind, and refuses the four others."""
    taken = None
    with suppress(Exception):
        taken = READERS[reader](TOKENS[kind])
    assert bool(taken) is (kind == reader)
