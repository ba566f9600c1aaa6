"""The fail mode as a document: who decides what without the service."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest

from tidegate import Block, Engine
from tidegate.policy.document import read_document
from tidegate_server.daemon.failing import SLUG, fail_document, fail_part, let_through

MODES = ("last-known", "open", "closed", None)
TENANT = {"tenant_id": "018f0000-0000-7000-8000-000000000001", "name": "Shop", "slug": "shop"}


def document(tenant: str, one: str | None, two: str | None) -> dict[str, Any]:
    """Definitions that refuse everything with 403, with two actions by path."""
    actions = [
        {"name": name, "slug": name, "expression": f'request.path.contains("{name}")'}
        for name in ("one", "two")
    ]
    for action, mode in zip(actions, (one, two), strict=True):
        if mode is not None:
            action["fail_mode"] = mode
    return {
        "apiVersion": "tidegate/v1",
        "tenant": TENANT,
        "settings": {"fail_mode": tenant},
        "actions": actions,
        "mitigations": [{"name": "No", "slug": "no", "mode": "Block", "ttl_seconds": 0}],
        "policies": [
            {"name": "All", "slug": "all", "clauses": [{"name": "c", "mitigation": "no"}]}
        ],
    }


def status(known: dict[str, Any], path: str) -> int:
    """The status of an answer without the service: 200, 403 of the policy, or 503."""
    engine = Engine(read_document(fail_document(known) or known).compiled.source)
    action = engine.decide({"request": {"path": path}}).action
    return action.status_code if isinstance(action, Block) else 200


@pytest.mark.parametrize("modes", list(itertools.product(MODES[:3], MODES, MODES)))
def test_the_strictest_mode_of_the_matched_actions_counts(modes: tuple[str, Any, Any]) -> None:
    """Without a mode of a matched action, the tenant's mode counts."""
    known, (tenant, one, two) = document(*modes), modes
    wanted = {"last-known": 403, "open": 200, "closed": 503}
    for path, matched in (("/", ()), ("/one", (one,)), ("/two", (two,)), ("/one-two", (one, two))):
        own = [mode for mode in ("closed", "last-known", "open") if mode in matched]
        assert status(known, path) == wanted[own[0] if own else tenant], (modes, path)


def test_a_part_of_the_definitions_is_enough_for_the_fail_mode() -> None:
    """Without policies, what the last known definitions were to decide passes."""
    part = fail_part(document("last-known", "closed", "open"))
    assert [status(part, path) for path in ("/", "/one", "/two", "/one-two")] == [
        200,
        503,
        200,
        503,
    ]


def line(action: str, *fired: tuple[str, str | None]) -> bytes:
    """A decision of the log, as far as it is looked at."""
    clauses = [{"policy": name, "clause": "c", "mitigation": by} for name, by in fired]
    record = {"action": {"type": action}, "fired": clauses}
    return orjson.dumps({"answer": {}, "record": record, "event": {"path": SLUG}})


def test_only_what_the_fail_mode_lets_pass_is_counted() -> None:
    """Its open clauses count, and not its refusals or what the tenant's policies allow."""
    passed, refused = line("allow", (SLUG, None)), line("block", (SLUG, SLUG))
    lines = b"\n".join((passed, refused, line("allow", ("all", None)), line("allow")))
    assert let_through(lines, is_known=True) == 1
    assert let_through(lines, is_known=False) == 3


def test_what_passes_is_counted_whatever_numbers_events_have() -> None:
    """An event may have a number that no double holds, and an answer may have an action."""
    odd = line("allow").replace(b'"event":{', b'"event":{"n":1e999,')
    asked = odd.replace(b'"answer":{}', b'"answer":{"action":{"type":"allow"}}')
    assert let_through(b"\n".join((odd, asked)), is_known=False) == 2
