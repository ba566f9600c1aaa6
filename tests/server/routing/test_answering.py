"""Answers to changes that are saved and do not decide yet."""

from __future__ import annotations

from uuid import UUID

import orjson

from tidegate_server.http.given import Sent
from tidegate_server.routing.answering import saved_only

TENANT = UUID(int=1)
PATH = f"/api/v1/tenants/{TENANT}/status"


def test_a_change_that_does_not_decide_yet_says_so_and_where_to_look() -> None:
    """The answer of a document or a pack has it in its body, every answer in its headers."""
    changes = {
        "revision": 2, "dry_run": False, "changes": [], "warnings": [], "active": True,
        "status": PATH,
    }  # fmt: skip
    pack = {
        **changes, "tenant_id": str(TENANT), "pack": "scraping", "from_version": None,
        "to_version": "1.0.0", "yours": [], "conflicts": [],
    }  # fmt: skip
    for body in (pack, changes):
        sent = saved_only(Sent(200, {}, orjson.dumps(body)), TENANT)
        assert orjson.loads(sent.body) == {**body, "active": False}
    assert sent.headers["definitions-active"] == "false"
    assert sent.headers["link"] == f'<{PATH}>; rel="status"'
    assert sent.headers["content-length"] == str(len(sent.body))


def test_other_answers_keep_their_bodies() -> None:
    """An object, or nothing, is answered as it was, and a refusal has no such header."""
    for body in (b"", b'{"active":true,"name":"a"}'):
        sent = saved_only(Sent(201, {}, body), TENANT)
        assert sent.body == body
        assert sent.headers["definitions-active"] == "false"
    refused = Sent(409, {}, b"{}")
    assert saved_only(refused, TENANT) == refused
