"""Sessions at other times: opened late, solved late, again and again, after the log lost them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import orjson
import pytest
from sqlalchemy import select
from tests.store_contract.examples import (
    SECOND_NS,
    START_NS,
    TENANT,
    decision_id,
    done,
    tenant,
)

from tidegate.policy.proofs import ChallengeContext
from tidegate_server.challenges.opening import (
    MINUTE_NS,
    MOST_ROUNDS,
    OPEN_NS,
    PATIENCE_NS,
    ROUNDS,
    ROUNDS_NS,
    SOLVE_NS,
)
from tidegate_server.control.app import Application
from tidegate_server.http.given import Given, Sent
from tidegate_server.operators.keys import load_keys
from tidegate_server.routing.dispatch import answer_by_name
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import lines
from tidegate_server.stores.decision_log.lines import LogBlock
from tidegate_server.stores.objects import challenges, passes, tenants
from tidegate_server.stores.rows.tables import challenge_sessions
from tidegate_server.stores.sqlite import SqliteStore

BACK = "https://shop.example/secret?q=1"


@attrs.define
class Past:
    """A control plane whose callers say what time it is, and a log."""

    application: Application
    made: int = 0

    @property
    def store(self) -> SqliteStore:
        found = self.application.store
        assert isinstance(found, SqliteStore)
        return found

    def settings(self, **settings: Any) -> None:
        """Give the tenant settings."""
        done(
            self.store.write(
                lambda c: tenants.change(c, TENANT, START_NS, settings={"redact": [], **settings})
            )
        )

    def decided(
        self,
        at: int = START_NS,
        *,
        who: str = "one",
        is_sealed: bool = True,
        action: str = "challenge",
        difficulty: int = 1,
    ) -> UUID:
        """Record a decision that challenged somebody, whose id is given."""
        self.made += 1
        made = decision_id(self.made, at)
        keys = self.application.proof_keys(TENANT)
        client = keys.client("192.0.2.7", "a browser")
        asked = {"provider": "pow", "difficulty": difficulty, "return_url": None}
        record = {
            "action": {"type": action, **({"challenge": asked} if action == "challenge" else {})},
            "mitigation": None,
            "entities": [{"entity_id": who}],
        }
        request = {"client_ip": "192.0.2.7", "user_agent": "a browser", "host": "shop.example"}
        line = lines.encode_line(
            decision_id=str(made),
            received_at_ns=at,
            api_key_id=None,
            source=b"null",
            endpoint="runtime",
            idempotency=None,
            revision=1,
            duration_us=1,
            answer=b"{}",
            record=orjson.dumps(record),
            effects=b"[]",
            event=orjson.dumps({"request": request, "return_url": BACK}),
            sealed=keys.seal(made, ChallengeContext(BACK, client)) if is_sealed else None,
        )
        index = lines.encode_index(
            tenant_id=str(TENANT),
            decision_id=str(made),
            received_at_ns=at,
            api_key_id=None,
            idempotency=None,
            observed_at_ns=at,
            action=action,
            reason="policy",
            policy_id=None,
            path="/secret",
            entity_ids=[],
            fired=[],
            errors=[],
        )
        block = LogBlock.of_one(
            tenant_id=TENANT, decision_id=made, received_at_ns=at, line=line, index=index
        )
        done(self.store.append([block]))
        return made

    def get(
        self,
        challenge: UUID,
        at: int = START_NS,
        query: bytes = b"",
        method: str = "GET",
        **headers: str,
    ) -> Sent:
        """The answer to a visitor who asks for the page."""
        return self._ask(
            "show-challenge", challenge, at, query=query, method=method, headers=headers
        )

    def wait(self, challenge: UUID, at: int, **headers: str) -> Sent:
        """The answer to a visitor who says to have waited."""
        return self._ask(
            "solve-challenge",
            challenge,
            at,
            body=b'{"method": "wait"}',
            media_type="application/json",
            headers=headers,
        )

    def round(self, at: int, *, who: str = "one", cookie: str = "") -> tuple[str, Sent]:
        """The page of a challenge that is solved ten seconds later, whatever is offered."""
        made = self.decided(at, who=who)
        headers = {"cookie": cookie} if cookie else {}
        page = self.get(made, at, **headers)
        assert self.wait(made, at + 10 * SECOND_NS, **headers).status == 303
        return offered(page), page

    def _ask(self, route: str, challenge: UUID, at: int, **members: Any) -> Sent:
        given = Given(
            request_id="r-1",
            now=at,
            path=f"/api/v1/challenge/{challenge}",
            query=members.pop("query", b""),
            is_encrypted=True,
            address="192.0.2.7",
            ids={"challenge_id": challenge},
            **members,
        )
        return answer_by_name(route, given, self.application)


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    """A tenant in which visitors may wait for ten seconds."""
    url = f"sqlite:///{tmp_path / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    done(store.write(lambda c: tenants.create(c, tenant())))
    made = Past(Application(store=store, keys=load_keys(tmp_path / "keys")))
    made.settings(challenge_wait_seconds=10)
    yield made
    store.close()


def code(sent: Sent) -> str:
    """The code of a problem."""
    found: str = orjson.loads(sent.body)["code"]
    return found


def test_a_challenge_is_opened_within_half_an_hour(past: Past) -> None:
    """Later there is nothing to open; what was opened in time stays as it is."""
    early, late = past.decided(who="one"), past.decided(who="two")
    assert past.get(early, START_NS + OPEN_NS - MINUTE_NS).status == 200
    after = START_NS + OPEN_NS + MINUTE_NS
    assert code(past.get(late, after)) == "challenge-expired"
    assert past.get(early, after).status == 200


AHEAD = [
    {"sec-purpose": "prefetch"},
    {"sec-purpose": "prefetch;prerender"},
    {"purpose": "prefetch"},
    {"purpose": "preview"},
    {"x-purpose": "preview"},
    {"x-moz": "Prefetch"},
]


@pytest.mark.parametrize("headers", AHEAD, ids=str)
def test_a_page_that_is_fetched_ahead_opens_no_challenge(
    past: Past, headers: dict[str, str]
) -> None:
    """However often a browser does it, the visitor gets the first check, and their time begins when
    they come."""
    made = [past.decided() for _ in range(MOST_ROUNDS + 1)]
    refused = [past.get(each, **headers) for each in made]
    assert {(each.status, code(each)) for each in refused} == {(403, "challenge-not-opened")}
    assert all("set-cookie" not in each.headers for each in refused)
    assert len(opened(past)) == 0
    at = START_NS + MINUTE_NS
    assert offered(past.get(made[-1], at)) == "check"
    assert past.wait(made[-1], at + 5 * SECOND_NS).status == 422
    assert past.wait(made[-1], at + 10 * SECOND_NS).status == 303
    page = past.get(made[0], accept="text/html", **headers)
    assert (page.status, page.headers["cache-control"]) == (403, "no-store")


def test_head_opens_no_challenge(past: Past) -> None:
    """It is answered as GET would be, and nothing begins."""
    made = past.decided()
    head = past.get(made, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-type"] == "text/html; charset=utf-8"
    assert len(opened(past)) == 0
    assert past.get(UUID(int=made.int ^ 1), method="HEAD").status == 404
    assert past.get(made, START_NS + OPEN_NS + MINUTE_NS, method="HEAD").status == 410
    assert past.get(made).status == 200
    assert len(opened(past)) == 1


def opened(past: Past) -> list[Any]:
    """The sessions that are kept."""
    with past.store.read() as connection:
        return list(connection.execute(select(challenge_sessions.c.challenge_id)))


def test_a_challenge_is_solved_within_a_quarter_of_an_hour(past: Past) -> None:
    """From its first page on; too early, in time, too late."""
    in_time, too_late = past.decided(), past.decided()
    for each in (in_time, too_late):
        past.get(each)
    early = past.wait(in_time, START_NS + 4 * SECOND_NS)
    assert (code(early), early.headers["retry-after"]) == ("challenge-too-early", "6")
    assert past.wait(in_time, START_NS + SOLVE_NS - 1).status == 303
    assert code(past.wait(too_late, START_NS + SOLVE_NS)) == "challenge-expired"
    page = past.get(too_late, START_NS + SOLVE_NS, accept="text/html")
    assert page.status == 410
    assert f'href="{BACK}"' in page.body.decode()


def test_what_a_solution_buys_lasts_as_the_tenant_says(past: Past) -> None:
    """The pass and the proof end with the setting of that time."""
    past.settings(challenge_wait_seconds=10, proof_ttl_seconds=60)
    made = past.decided()
    past.get(made)
    at = START_NS + 10 * SECOND_NS
    proof = orjson.loads(past.wait(made, at).body)["proof"]
    keys = past.application.proof_keys(TENANT)
    assert keys.read(proof, at + 60 * SECOND_NS - 1).status == "valid"
    assert keys.read(proof, at + 60 * SECOND_NS).status == "expired"
    with past.store.read() as connection:
        (bought,) = passes.page(connection, TENANT, 9)
    assert (bought.provider, bought.expires_at_ns) == ("wait", at + 60 * SECOND_NS)


def test_nobody_waits_where_the_tenant_does_not_let_them(past: Past) -> None:
    """The way is closed for solutions too, not on the page alone."""
    past.settings()
    made = past.decided()
    assert 'value="wait"' not in past.get(made).body.decode()
    assert code(past.wait(made, START_NS + MINUTE_NS)) == "challenge-failed"


def offered(page: Sent) -> str:
    """The offer of a page."""
    text = page.body.decode()
    if "altcha-widget" in text:
        return "check"
    return "wait" if 'value="wait"' in text else "nothing"


LOOPED = ["check"] * ROUNDS + ["wait"] * (MOST_ROUNDS - ROUNDS) + ["nothing"]
"""The offers to somebody who solves challenge after challenge."""


def kept(page: Sent) -> str:
    """The cookies that a browser keeps of a page."""
    cookie, _, attributes = page.headers["set-cookie"].partition("; ")
    assert attributes == "Max-Age=600; HttpOnly; SameSite=Lax"
    return cookie


def test_who_cannot_solve_is_not_sent_round_for_ever(past: Past) -> None:
    """First the check, then the other way, then nothing by itself; others see the check."""
    times = [START_NS + number * (PATIENCE_NS + SECOND_NS) for number in range(MOST_ROUNDS + 1)]
    assert [offered(past.get(past.decided(at), at)) for at in times] == LOOPED
    assert offered(past.get(past.decided(times[-1], who="two"), times[-1])) == "check"
    later = times[-1] + ROUNDS_NS
    assert offered(past.get(past.decided(later), later)) == "check"


def test_who_keeps_no_cookies_is_not_sent_round_for_ever(past: Past) -> None:
    """Each solution buys a pass that is not kept, so the next request is challenged."""
    times = [START_NS + number * 10 * SECOND_NS for number in range(MOST_ROUNDS + 1)]
    assert [past.round(at)[0] for at in times] == LOOPED


def test_who_keeps_no_cookies_of_the_site_is_not_sent_round_for_ever(past: Past) -> None:
    """Though the browser keeps those of this page; nor if its network changes each time."""
    found, page = past.round(START_NS)
    seen, cookie = [found], kept(page)
    for number in range(1, MOST_ROUNDS + 1):
        at = START_NS + number * 10 * SECOND_NS
        found, page = past.round(at, who=f"network {number}", cookie=cookie)
        assert kept(page) == cookie
        seen.append(found)
    # The first one was opened before the browser had a cookie.
    assert seen == ["check", *LOOPED[:-1]]


def test_who_gets_through_does_not_count_for_others(past: Past) -> None:
    """Thirty people behind one address, with the same browser, one after the other."""
    for number in range(30):
        at = START_NS + number * 10 * SECOND_NS
        made = past.decided(at)
        page = past.get(made, at)
        assert offered(page) == "check"
        assert past.wait(made, at + 10 * SECOND_NS, cookie=f"a=b; {kept(page)}").status == 303


def test_tabs_that_are_opened_together_are_no_rounds(past: Past) -> None:
    """A browser that starts with thirty of them, or as many people at one time."""
    assert {offered(past.get(past.decided())) for _ in range(30)} == {"check"}


@pytest.mark.parametrize("cookie", ["tidegate_browser=", 'tidegate_browser=x"<', "x" * 20_000])
def test_what_is_no_mark_of_ours_is_not_kept(past: Past, cookie: str) -> None:
    """The browser gets a new one."""
    mark = kept(past.get(past.decided(), cookie=cookie)).partition("=")[2]
    assert len(mark) == 22
    assert mark not in cookie


def test_an_actor_may_still_start_the_check_by_hand(past: Past) -> None:
    """The page that stops says how; nothing starts by itself there."""
    for number in range(MOST_ROUNDS):
        past.round(START_NS + number * 10 * SECOND_NS)
    at = START_NS + MOST_ROUNDS * 10 * SECOND_NS
    made = past.decided(at)
    assert f"{made}?again=true" in past.get(made, at).body.decode()
    page = past.get(made, at, query=b"again=true").body.decode()
    assert 'data-auto="off"' in page


def test_a_page_that_is_loaded_again_asks_the_same(past: Past) -> None:
    """Each decision has one session, whoever opens its page and however often."""
    made = past.decided()
    pages = {past.get(made, START_NS + number * SECOND_NS).body for number in range(3)}
    assert len(pages) == 1


def test_what_is_no_challenge_is_not_there(past: Past) -> None:
    """A decision of another kind, one the log lost, an id of no time, an id of the future."""
    allowed = past.decided(action="allow")
    lost = decision_id(999)
    future = decision_id(1, START_NS + 60 * MINUTE_NS)
    for each in (allowed, lost, future, UUID(int=7)):
        assert code(past.get(each)) == "not-found"


def test_a_decision_of_an_earlier_version_has_its_page(past: Past) -> None:
    """A decision of an earlier version sealed nothing, and its event has the address in clear."""
    made = past.decided(is_sealed=False)
    past.get(made)
    sent = past.wait(made, START_NS + MINUTE_NS)
    assert sent.headers["location"].startswith(f"{BACK}&service_challenge_proof=")
    with past.store.read() as connection:
        opened = challenges.find(connection, made)
    assert b"shop.example/secret" not in opened.sealed


def test_a_challenge_whose_keys_are_gone_is_over(past: Past) -> None:
    """A ticket sealed under other keys cannot be read, so its challenge has expired."""
    made = past.decided()
    past.get(made)
    keys = attrs.evolve(past.application.keys, sealing=bytes(range(32)))
    other = Past(Application(store=past.store, keys=keys))
    assert code(other.wait(made, START_NS + MINUTE_NS)) == "challenge-expired"


def test_a_tenant_that_is_deleted_has_no_challenges(past: Past) -> None:
    """Neither those that were opened nor others."""
    opened, other = past.decided(), past.decided()
    past.get(opened)
    done(past.store.write(lambda c: tenants.delete(c, TENANT)))
    for each in (opened, other):
        assert code(past.get(each)) == "not-found"
    assert code(past.wait(opened, START_NS + MINUTE_NS)) == "not-found"
