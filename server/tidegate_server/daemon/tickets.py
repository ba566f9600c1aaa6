"""A daemon's challenge answers: their addresses carry a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.challenges.ticket import ticket_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.evaluation.native import Block
    from tidegate.policy.proofs import ProofKeys

_CHALLENGES = b'"challenge":{"redirect_url":'


def answers_with_tickets(keys: ProofKeys, block: Block) -> Sequence[bytes | None]:
    """The answers of decisions, as callers get them.

    Args:
        keys: keys of the tenant.
        block: the decisions.
    """
    if all(action != "challenge" for _, action, _ in block.actions):
        return block.answers
    lines = iter(block.lines.split(b"\n"))
    return [None if each is None else _answer(keys, each, next(lines)) for each in block.answers]


def _answer(keys: ProofKeys, answer: bytes, line: bytes) -> bytes:
    found = ticket_of(keys, line) if _CHALLENGES in answer else None
    if found is None:
        return answer
    decision_id, ticket = found
    address = b'/%b"' % str(decision_id).encode()
    return answer.replace(address, b'%b?ticket=%b"' % (address[:-1], ticket.encode()), 1)
