"""Random faults between a daemon and its service, and what has to hold whatever happens.

``python -m tests.hybrid.schedules --count 100 --seed 1`` runs schedules, each of a few faults with
requests in between; then everything is healed.  In each: the site answers every request by its fail
mode; every decision that it gave is recorded by the service once; and the daemon is level again
without help.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hybrid.running import Daemon, Link, Service, daemon, service, wait_for

FAULTS = ("cut", "kill", "stop", "truncate", "flip", "corrupt", "empty", "wait")
FILES = ("definitions.json", "definitions.json.previous", "state.json", "state.json.previous")


def run(origin: Service, site: Daemon, link: Link, number: int, chosen: random.Random) -> list[str]:
    """One schedule; the faults that it had."""
    path, answers = f"/schedule-{number}-{chosen.randrange(10**9)}", []
    faults = [chosen.choice(FAULTS) for _ in range(chosen.randint(2, 4))]
    for fault in faults:
        inflict(fault, site, link, chosen)
        visitors = [f"203.0.113.{chosen.randrange(1, 250)}" for _ in range(chosen.randint(1, 6))]
        answers += [site.decide(path, visitor) for visitor in visitors]
        if chosen.random() < 0.5:
            link.heal()
    link.heal()
    wait_for(lambda: site.status()["spooled"] == 0, 120)
    wanted = sorted(each["decision_id"] for each in answers)
    found = sorted(each["decision_id"] for each in origin.decisions(path))
    assert found == wanted, f"{len(wanted)} answered, {len(found)} recorded: {faults}"
    assert all(each["action"]["type"] == "allow" for each in answers), faults
    return faults


def inflict(fault: str, site: Daemon, link: Link, chosen: random.Random) -> None:
    """One fault."""
    match fault:
        case "cut":
            link.cut()
        case "kill" | "stop":
            site.stop(signal.SIGKILL if fault == "kill" else signal.SIGTERM)
            site.start()
        case "truncate":
            link.truncate = chosen.randint(1, 2_000)
        case "flip":
            link.flip = True
        case "corrupt" | "empty":
            site.stop(chosen.choice((signal.SIGKILL, signal.SIGTERM)))
            for name in chosen.sample(FILES, chosen.randint(1, len(FILES))):
                damage(site.folder / "cache" / name, fault, chosen)
            site.start()
        case "wait":
            time.sleep(chosen.random())


def damage(path: Path, fault: str, chosen: random.Random) -> None:
    """Change a byte of a file, or cut it."""
    if not path.exists():
        return
    content = bytearray(path.read_bytes())
    if fault == "empty" or not content:
        path.write_bytes(content[: chosen.randrange(len(content) + 1)])
        return
    content[chosen.randrange(len(content))] ^= chosen.randrange(1, 256)
    path.write_bytes(content)


def schedules(directory: Path, count: int, seed: int) -> None:
    """Run schedules against one service and one daemon.

    Raises:
        AssertionError: something did not hold; the message has the seed.
    """
    settings = {
        "TIDEGATE_DAEMON_OFFLINE_SECONDS": "3600",
        "TIDEGATE_DAEMON_RETRY_SECONDS": "1",
    }
    with service(directory) as origin, daemon(origin, directory, **settings) as (site, link):
        for number in range(count):
            chosen = random.Random(f"{seed}-{number}")
            try:
                faults = run(origin, site, link, number, chosen)
            except BaseException as error:
                raise AssertionError(f"seed {seed}, schedule {number}: {error}") from error
            print(f"{number}: {', '.join(faults)}", file=sys.stderr)


def main() -> None:
    """Run as many as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        schedules(Path(name), given.count, given.seed)
    print(f"{given.count} schedules: nothing lost, nothing twice, every request answered")


if __name__ == "__main__":
    main()
