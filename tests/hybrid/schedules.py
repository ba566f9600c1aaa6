"""Random faults between a daemon and its service, and what has to hold whatever happens.

``python -m tests.hybrid.schedules --count 100 --seed 1`` runs schedules, each of a few faults with
requests in between; then everything is healed.  In each: the site answers every request by its fail
mode; the service has every decision once, and counts it once; no visitor is blocked for what came
late; and the daemon is level again without help.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
from tests.hybrid.faults import FAULTS, Fault
from tests.hybrid.link import Link
from tests.hybrid.running import Daemon, Service, daemon, service, wait_for

LEVEL_SECONDS = 120
THRESHOLD = 12
"""Requests that block a visitor who is counted; a schedule makes fewer."""
LATE_SECONDS, LATE_REQUESTS = 2, 3
"""The window that no late request may fill, and how many within it block."""
_LAST = "kept twice"


@attrs.define
class Schedule:
    """One run of faults and requests."""

    origin: Service
    site: Daemon
    link: Link
    number: int
    chosen: random.Random
    faults: Sequence[str]
    kept: list[str] = attrs.field(factory=list)
    """Decisions that the site answered and has to keep."""
    loose: list[str] = attrs.field(factory=list)
    """Decisions that it answered while its disk was full: kept, or counted as dropped."""
    is_blocked: bool = False
    """Whether the site itself blocked the visitor who comes late."""

    def run(self) -> None:
        """Run it.

        Raises:
            AssertionError: something does not hold.
        """
        dropped = self.site.status()["dropped"]
        for name in self.faults:
            fault = Fault(self.origin, self.site, self.link, self.chosen)
            with fault.inflicted(name) as keeps:
                self.visit(self.kept if keeps else self.loose)
            fault.over(lambda: self.ask("/probe", self.loose))
            if self.chosen.random() < 0.5:
                self.link.heal()
        late = time.monotonic()
        self.link.heal()
        wait_for(self.is_level, LEVEL_SECONDS)
        self.judge(self.site.status()["dropped"] - dropped)
        time.sleep(max(0.0, late + LATE_SECONDS + 0.5 - time.monotonic()))
        self.judge_late()

    def request(self, path: str) -> dict[str, str]:
        """A request on a path of this schedule, by the path's own visitor."""
        visitor = f"10.{len(path)}.{self.number // 256}.{self.number % 256}"
        return {"path": f"{path}-{self.number}", "client_ip": visitor}

    def ask(self, path: str, answered: list[str]) -> Any:
        """A decision of the site."""
        request = self.request(path)
        answer = self.site.decide(request["path"], request["client_ip"])
        answered.append(answer["decision_id"])
        return answer

    def visit(self, answered: list[str]) -> None:
        """Requests of a visitor who is counted, one who comes late, and one who is refused."""
        for _ in range(self.chosen.randint(1, 2)):
            answer = self.ask("/counted", answered)
            assert answer["action"]["type"] == "allow", answer
        for _ in range(self.chosen.randint(0, 2)):
            answer = self.ask("/late", answered)
            self.is_blocked |= answer["action"]["type"] == "block"
        modes = {self.site.status()["mode"]}
        answer = self.ask("/refused", answered)
        modes.add(self.site.status()["mode"])
        may = {"allow" if each == "fail-open" else "block" for each in modes}
        assert answer["action"]["type"] in may, f"{answer} while {modes}"

    def is_level(self) -> bool:
        """Whether the service has all, and the daemon what the service has."""
        status = self.site.status()
        if status["spooled"] or status["mode"] != "online":
            return False
        newest = self.origin.sync("GET", "/snapshot").json()
        return bool(status["sequence"] == newest["sequence"])

    def judge(self, dropped: int) -> None:
        """Kept decisions are recorded once, others are counted, and windows count once."""
        paths = ("/counted", "/late", "/refused", "/probe")
        found = {path: self.origin.decisions(f"{path}-{self.number}") for path in paths}
        recorded = [each["decision_id"] for on_path in found.values() for each in on_path]
        assert len(recorded) == len(set(recorded)), "a decision is recorded twice"
        lost = set(self.kept) - set(recorded)
        assert not lost, f"{len(lost)} of {len(self.kept)} decisions are lost"
        foreign = set(recorded) - set(self.kept) - set(self.loose)
        assert not foreign, f"{len(foreign)} decisions that nobody was answered"
        missing = len(set(self.loose) - set(recorded))
        assert missing == dropped, f"{missing} decisions are missing, {dropped} counted as dropped"
        counted = sum(bool(each["entity_ids"]) for each in found["/counted"])
        request = {"request": self.request("/counted")}
        more = 1
        while self.origin.decide(request)["action"]["type"] == "allow":
            more += 1
            assert more <= THRESHOLD, "the service counted less than was recorded"
        assert counted + more == THRESHOLD, f"{counted} counted as {THRESHOLD - more}"

    def judge_late(self) -> None:
        """A visitor who has done nothing since is not blocked for late events."""
        is_earned = self.is_blocked or self.is_window_full()
        answer = self.origin.decide({"request": self.request("/late")})
        assert is_earned or answer["action"]["type"] == "allow", "a late spool blocks"

    def is_window_full(self) -> bool:
        """Whether enough requests of the visitor who comes late were made within the window."""
        recorded = self.origin.decisions(f"/late-{self.number}")
        times = sorted(datetime.fromisoformat(each["observed_at"]) for each in recorded)
        ends = zip(times, times[LATE_REQUESTS - 1 :], strict=False)
        return any(last - first <= timedelta(seconds=LATE_SECONDS) for first, last in ends)


def make_policies(origin: Service) -> None:
    """The policies that schedules look at."""
    for name, threshold, seconds, ttl in (
        ("counted", THRESHOLD, 86_400, 86_400),
        ("late", LATE_REQUESTS, LATE_SECONDS, 600),
        ("refused", 1, 60, 0),
    ):
        made = origin.make_policy(name, f"/{name}-", threshold, ttl, seconds)
    # The definitions that are kept as the ones before have the policies too.
    origin.call("PATCH", f"/policies/{made['policy_id']}", {"description": _LAST})


def knows_policies(origin: Service, site: Daemon) -> bool:
    """Whether the daemon decides by the last change; a snapshot may lag behind it."""
    newest = origin.sync("GET", "/snapshot").json()
    has_last = any(each.get("description") == _LAST for each in newest["document"]["policies"])
    return has_last and bool(site.status()["revision"] == newest["revision"])


def drawn(count: int, seed: int) -> list[list[str]]:
    """The faults of schedules, two to four each."""
    chosen = random.Random(f"faults of {seed}")
    return [chosen.choices(FAULTS, k=chosen.randint(2, 4)) for _ in range(count)]


def each_once(seed: int) -> list[list[str]]:
    """Every fault once, in as few schedules as hold them."""
    mixed = random.Random(f"faults of {seed}").sample(FAULTS, len(FAULTS))
    return [mixed[first : first + 4] for first in range(0, len(mixed), 4)]


def schedules(directory: Path, planned: Sequence[Sequence[str]], seed: int) -> None:
    """Run schedules against one service and one daemon.

    Args:
        directory: of their data.
        planned: the faults of each schedule.
        seed: draws all else.

    Raises:
        AssertionError: something did not hold; the message has the seed.
    """
    settings = {
        "TIDEGATE_DAEMON_OFFLINE_SECONDS": "3600",
        "TIDEGATE_DAEMON_RETRY_SECONDS": "1",
    }
    with service(directory) as origin, daemon(origin, directory, **settings) as (site, link):
        make_policies(origin)
        wait_for(lambda: knows_policies(origin, site))
        for number, faults in enumerate(planned):
            started = time.monotonic()
            chosen = random.Random(f"{seed}-{number}")
            try:
                Schedule(origin, site, link, number, chosen, faults).run()
            except BaseException as error:
                raise AssertionError(f"seed {seed}, schedule {number}: {error}") from error
            took = time.monotonic() - started
            print(f"{number}: {', '.join(faults)}: {took:.1f} s", file=sys.stderr, flush=True)


def main() -> None:
    """Run as many as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        schedules(Path(name), drawn(given.count, given.seed), given.seed)
    print(f"{given.count} schedules: nothing lost, nothing twice, every request answered")


if __name__ == "__main__":
    main()
