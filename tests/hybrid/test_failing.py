"""The answers of a daemon while its service is away."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.hybrid.running import Daemon, Service, daemon, wait_for

ADDRESS = "198.51.100.77"


def statuses(site: Daemon) -> list[int]:
    """How requests of the actions, and of none of them, are answered."""
    decided = [site.decide(path, ADDRESS)["action"] for path in ("/fail-login", "/fail-asset", "/")]
    return [each["block"]["status_code"] if "block" in each else 200 for each in decided]


@pytest.fixture
def actions(origin: Service) -> None:
    """Actions with modes of their own, and a policy that refuses one of them."""
    for path, mode in (("fail_login", "closed"), ("fail_asset", "open")):
        expression = f'request.path == "/{path.replace("_", "-")}"'
        body = {"name": path, "slug": path, "expression": expression, "fail_mode": mode}
        origin.call("POST", "/actions", body)
    origin.make_policy("Fail asset", "/fail-asset", 1, ttl=0)


@pytest.mark.usefixtures("actions")
def test_an_action_has_a_fail_mode_of_its_own(origin: Service, tmp_path: Path) -> None:
    """An action's fail mode counts while the service is away, even with damaged definitions on
    disk."""
    settings = {
        "TIDEGATE_DAEMON_OFFLINE_SECONDS": "3",
        "TIDEGATE_DAEMON_RETRY_SECONDS": "1",
        "TIDEGATE_DAEMON_FAIL_OPEN_PER_HOUR": "0",
    }
    with daemon(origin, tmp_path, **settings) as (site, link):
        wait_for(lambda: statuses(site) == [200, 403, 200])
        assert not site.status()["fail_open_alarm"]
        link.cut()
        wait_for(lambda: statuses(site) == [503, 200, 200])
        assert site.status()["mode"] == "offline"
        assert site.status()["fail_open_alarm"]
        site.stop(signal.SIGKILL)
        for name in ("definitions.json", "definitions.json.previous"):
            (site.folder / "cache" / name).write_bytes(b"damaged")
        site.start()
        assert statuses(site) == [503, 200, 200]
        link.heal()
        wait_for(lambda: statuses(site) == [200, 403, 200])


def test_a_daemon_that_knows_nothing_answers_as_its_settings_say(
    origin: Service, tmp_path: Path
) -> None:
    """With the service away and the cache unusable, ``daemon.fail_mode`` counts."""
    with daemon(origin, tmp_path, TIDEGATE_DAEMON_FAIL_MODE="closed") as (site, link):
        assert statuses(site)[2] == 200
        link.cut()
        site.stop(signal.SIGKILL)
        for path in (site.folder / "cache").iterdir():
            path.write_bytes(b"")
        site.start()
        assert statuses(site) == [503, 503, 503]
        assert site.status()["mode"] == "fail-closed"
