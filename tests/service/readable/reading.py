"""Events of a tenant, sent, and read back by every route that shows them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any
from uuid import UUID

import attrs
import httpx2
import orjson
from tests.server.deciding import Deciding, made
from tests.service.readable import exact
from uuid_utils import uuid7

from tidegate.cli.subjects import Subjects
from tidegate.errors import EventError
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.decision_log.lines import event_in
from tidegate_server.stores.sqlite import SqliteStore

SUBJECTS = Subjects([])
"""Reads a request's address as rules do; the tenant trusts no proxy."""

SENT_AT_ONCE = 100
PAGE = 500
ENTITIES = 10
"""Of those with most decisions, each of which has pages of its own."""
JOB_SECONDS = 120.0
ATTEMPTS = 5
MOST = {"rate_limit_per_minute": 600_000}
DEFINITIONS: Mapping[str, Any] = {
    "apiVersion": "tidegate/v1",
    "actions": [
        {"name": "Login", "expression": 'request.path == "/login"'},
        {"name": "Many", "expression": 'fields["count"] != "" && int(fields["count"]) > 3'},
    ],
    "entities": [
        {"name": "Address", "key_fields": ["request.client_ip"]},
        {"name": "Account", "key_fields": ['fields["account"]', "request.path"]},
        {"name": "Count", "key_fields": ['int(fields["count"])']},
        {"name": "Body", "key_fields": ["string(request.body)"]},
    ],
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 600}],
    "policies": [
        {
            "name": "Window",
            "clauses": [
                {
                    "name": "many",
                    "entity": "account",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 20},
                },
                {"name": "login", "actions": ["login"]},
            ],
        }
    ],
}
EXPRESSION = 'size(request.path) >= 0 || request.body == 1 || fields["count"] == "1"'
BY = ("request.path", 'fields["account"]', "request.user_agent", "source", "request.method")


@attrs.define
class Findings:
    """The failures, by their kind, with an example of each."""

    counts: Counter[str] = attrs.field(factory=Counter)
    examples: dict[str, str] = attrs.field(factory=dict)

    def add(self, kind: str, example: object) -> None:
        """Note a failure."""
        self.counts[kind] += 1
        self.examples.setdefault(kind, str(example)[:2_000])


@attrs.define
class Reading:
    """The events of one tenant.

    Attributes:
        shop: the tenant.
        store: of the service, for what is kept.
        found: what does not hold.
        read: how many answers were compared, by route.
    """

    shop: Deciding
    store: SqliteStore
    found: Findings
    read: Counter[str] = attrs.field(factory=Counter)
    sent: dict[str, bytes] = attrs.field(factory=dict)
    kept: dict[str, bytes] = attrs.field(factory=dict)
    lines: dict[str, bytes] = attrs.field(factory=dict)

    def send(self, events: Sequence[bytes]) -> None:
        """Send events, and note what is kept of those that were accepted."""
        for start in range(0, len(events), SENT_AT_ONCE):
            part = events[start : start + SENT_AT_ONCE]
            answers = self._answer(
                "POST", "/api/v1/beacon/events", b"[%b]" % b",".join(part), self.shop.key
            )
            if answers is None:
                continue
            for event, answer in zip(part, exact.read(answers.content), strict=True):
                status = answer["status"].text
                if status != "200":
                    self.found.add(f"refused: {status} {answer.get('problem')}", event)
                    continue
                self.sent[answer["item_id"]] = event
        self.look()

    def look(self) -> None:
        """Read what the log holds of the tenant."""
        with self.store.read() as connection:
            for line in log.scan(connection, tenant_id=UUID(self.shop.tenant_id)):
                name = str(line.decision().decision_id)
                self.lines[name] = line.line
                self.kept[name] = event_in(line.line)
        for name, event in self.sent.items():
            if name not in self.kept:
                self.found.add("not in the log", event)
            elif not exact.is_kept(exact.read(event), exact.read(self.kept[name])):
                self.found.add("kept otherwise than sent", event)

    def read_all(self, singly: int) -> None:
        """Read every event back by every route.

        Args:
            singly: how many of them by the routes that answer with one decision.
        """
        for check in (
            self.listed,
            self.searched,
            self.matched,
            self.counted,
            self.entities,
            self.replayed,
        ):
            check()
        self.singly(singly)

    def listed(self) -> None:
        """The list of decisions, page by page."""
        rows = dict(self._pages())
        self._compare_rows("list", rows)

    def searched(self) -> None:
        """The search by an expression, page by page."""
        rows: dict[str, Any] = {}
        body: dict[str, Any] = {"expression": EXPRESSION, "limit": 100}
        while True:
            answer = self._post("decisions/search", body)
            if answer is None:
                return
            rows |= {each["decision_id"]: each for each in answer["decisions"]}
            if answer["cursor"] is None:
                break
            body["cursor"] = answer["cursor"]
        self._compare_rows("search", rows)

    def matched(self) -> None:
        """A match by an expression, and by a draft."""
        for selection in ({"expression": EXPRESSION}, {"policy": self._draft()}):
            body = {**selection, "newest": 5_000, "samples": 100, "by": BY}
            answer = self._post("traffic/match", body)
            if answer is None:
                continue
            self.read["match"] += 1
            looked = (int(answer["looked_at"].text), int(answer["matched"].text))
            if looked != (len(self.kept), len(self.kept)) and answer["complete"]:
                self.found.add("match: not all were looked at", answer)
            for row in answer["samples"]:
                self._compare_row("match", row["decision_id"], row)

    def counted(self) -> None:
        """Facets, the field catalog with values, results and the timeline."""
        self._post("traffic/facets", {"fields": BY, "newest": 5_000})
        for place in ("field-catalog?values=true", "results/policies", "results/timeline"):
            if self._get(place) is not None:
                self.read[place.split("?")[0]] += 1

    def entities(self) -> None:
        """The busiest entities, and the pages of each."""
        answer = self._get(f"entities/top?newest=5000&limit={ENTITIES}")
        for each in () if answer is None else answer["entities"]:
            name = each["entity_id"]
            for place in (
                f"entities/{name}/state",
                f"entities/{name}/together?newest=5000",
                f"decisions?entity_id={name}&limit={PAGE}",
            ):
                if self._get(place) is not None:
                    self.read["entity"] += 1
            self._post(
                "entities/find",
                {"entity_definition_id": each["entity_definition_id"], "key": plain(each["key"])},
            )
        self._get("active-mitigations")
        self._get("agents?newest=5000")

    def singly(self, most: int) -> None:
        """Decisions by themselves, and their explanations: some, spread over all."""
        step = max(1, -(-len(self.kept) // most)) if most else len(self.kept) + 1
        for name, kept in islice(self.kept.items(), step - 1, None, step):
            answer = self._get(f"decisions/{name}")
            if answer is not None:
                self.read["decision"] += 1
                if answer["event"] != exact.read(kept):
                    self.found.add("decision: another event", (kept, answer["event"]))
            answer = self._get(f"decisions/{name}/explain")
            if answer is not None:
                self.read["explanation"] += 1
                if not answer["reproduced"] and not is_known(answer["because"]):
                    self.found.add("explanation: not reproduced", (answer["because"], kept))

    def replayed(self) -> None:
        """A replay of all of them by the same definitions."""
        period = {"since": "2020-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z"}
        job = self._post("replay-jobs", {**period, "time": "received"})
        end = time.monotonic() + JOB_SECONDS
        while job is not None and job["status"] in ("queued", "running"):
            if time.monotonic() > end:
                self.found.add("replay: no end", job)
                return
            time.sleep(0.05)
            job = self._get(f"replay-jobs/{job['replay_job_id']}")
        if job is None or job["status"] != "done":
            self.found.add("replay: failed", job)
            return
        self.read["replay"] += 1
        result = job["result"]
        if (result["events"].text, result["skipped"].text) != (str(len(self.kept)), "0"):
            self.found.add("replay: not all were decided", job)

    def forward(self, other: Deciding) -> None:
        """The decisions, forwarded to another tenant as a daemon does, are recorded there as they
        are here."""
        key = made(
            other.by("Owner").post(
                f"{other.path}/api-keys", {"name": "daemon", "can_sync": True, **MOST}
            )
        )["key"]
        names = {name: str(uuid7()) for name in self.kept}
        received = Reading(other, self.store, self.found, self.read)
        spool = {"daemon_id": str(uuid7()), "spool_id": str(uuid7())}
        waiting = list(enumerate(self.lines.items(), 1))
        for start in range(0, len(waiting), SENT_AT_ONCE):
            events = []
            for number, (name, line) in waiting[start : start + SENT_AT_ONCE]:
                renamed, at = line.replace(name.encode(), names[name].encode(), 1), time.time_ns()
                index = [other.tenant_id, names[name], at, None, None, None, at]
                index += ["allow", "no-match", None, None, "", [], []]
                events.append({"number": number, "line": orjson.Fragment(renamed), "index": index})
            answer = self._answer(
                "POST", "/api/v1/sync/events", orjson.dumps({**spool, "events": events}), key
            )
            for refused in () if answer is None else exact.read(answer.content)["refused"]:
                self.found.add("forwarded: refused", refused)
        received.look()
        for name, kept in self.kept.items():
            if received.kept.get(names[name]) != kept:
                self.found.add("forwarded: kept otherwise", kept)
            self.read["forwarded"] += 1
        received.listed()

    def published(self, messages: Mapping[str, Any]) -> None:
        """The messages of a destination, by decision."""
        for name, kept in self.kept.items():
            self.read["published"] += 1
            if name not in messages or messages[name]["event"] != exact.read(kept):
                self.found.add("published otherwise", kept)

    def evaluated(self) -> None:
        """The decisions of both evaluators on what was sent."""
        native, reference = (TenantEngine(DEFINITIONS, each) for each in ("native", "reference"))  # type: ignore[arg-type]
        at = time.time_ns()
        for name, event in self.sent.items():
            self.read["evaluated"] += 1
            done = [served(each, event, at, name) for each in (native, reference)]
            if done[0] != done[1]:
                self.found.add("evaluators differ", (event, done))

    # --- calls ----------------------------------------------------------------------------

    def _answer(
        self, method: str, path: str, content: bytes | None = None, key: str | None = None
    ) -> httpx2.Response | None:
        """A success; any other answer is a finding."""
        headers = {"content-type": "application/json"}
        owner = self.shop.by("Owner")
        headers |= {"x-service-api-key": key} if key else {"authorization": f"Bearer {owner.token}"}
        for _ in range(ATTEMPTS):
            answer = owner.http.request(method, path, content=content, headers=headers)
            # A busy machine may end work before it is done, and says so.
            if answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
                break
        if answer.is_success:
            return answer
        kind = f"{method} {path.split('?')[0]}".replace(self.shop.tenant_id, "T")
        self.found.add(f"{answer.status_code} {shortened(kind)}", (path, answer.text))
        return None

    def _get(self, place: str) -> Any:
        answer = self._answer("GET", f"/api/v1/{self.shop.path}/{place}")
        return None if answer is None else exact.read(answer.content)

    def _post(self, place: str, body: Mapping[str, Any]) -> Any:
        content = httpx2.Request("POST", "http://x", json=body).content
        answer = self._answer("POST", f"/api/v1/{self.shop.path}/{place}", content)
        return None if answer is None else exact.read(answer.content)

    def _pages(self) -> Iterator[tuple[str, Any]]:
        place = f"/api/v1/{self.shop.path}/decisions?limit={PAGE}"
        while True:
            answer = self._answer("GET", place)
            if answer is None:
                return
            for row in exact.read(answer.content):
                yield row["decision_id"], row
            if "next" not in answer.links:
                return
            place = answer.links["next"]["url"]

    # --- comparisons ----------------------------------------------------------------------

    def _compare_rows(self, route: str, rows: Mapping[str, Any]) -> None:
        for name in self.kept:
            if name not in rows:
                self.found.add(f"{route}: missing", self.kept[name])
            else:
                self._compare_row(route, name, rows[name])

    def _compare_row(self, route: str, name: str, row: Any) -> None:
        self.read[route] += 1
        request = exact.read(self.kept[name]).get("request") or {}
        for member in ("method", "client_ip", "user_agent"):
            wanted = request.get(member)
            if member == "user_agent" and not wanted:
                continue
            if member == "client_ip":  # the address that rules saw, if there is one
                wanted = SUBJECTS.of(self.kept[name]).client_ip or None
            if row[member] != (wanted[:512] if isinstance(wanted, str) else None):
                self.found.add(f"{route}: another {member}", (self.kept[name], row))

    def _draft(self) -> dict[str, Any]:
        return {"name": "Draft", "clauses": [{"name": "all"}]}


def served(engine: TenantEngine, event: bytes, at: int, name: str) -> Any:
    """The answer, the record and the effects of an engine, or its refusal."""
    try:
        done = engine.serve(event, at, name)
    except EventError as error:
        return error.pointer
    return bytes(done.answer), orjson.loads(done.record), orjson.loads(done.effects)


def plain(key: Sequence[Any]) -> list[Any]:
    """A key as it is sent."""
    return [int(each.text) if isinstance(each, exact.Number) else each for each in key]


def is_known(because: Sequence[str]) -> bool:
    """Whether the reasons that a decision is not repeated are of those that a page names."""
    return all("please report" not in each and "refused" not in each for each in because)


def shortened(kind: str) -> str:
    """A path without the ids in it."""
    return "/".join("ID" if len(each) == 36 else each for each in kind.split("/"))
