"""The outcomes of a site behind nginx, by its log, as docs/integrations.md says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from tests.integrations.asking import ask
from tests.integrations.edges import EXAMPLES, ROOT, running
from tests.server.deciding import Deciding, Service, made
from tests.waiting import wait_until

LOG_NAME = "outcomes.log"
LOG = f"/var/log/nginx/{LOG_NAME}"
PAGE = (ROOT / "docs" / "integrations.md").read_text().partition("### Outcomes behind a proxy")[2]


def blocks() -> list[str]:
    """The blocks of the recipe: for nginx, and the commands."""
    return re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def example(directory: Path) -> Path:
    """The example for nginx with the recipe in it, in front of a site that refuses each login."""
    folder = directory / "nginx"
    shutil.copytree(EXAMPLES / "nginx", folder)
    of_http, of_server = blocks()[0].split("# in `server`:\n")
    template = folder / "tidegate.conf.template"
    head, first, rest = template.read_text().partition("server {\n    listen 127.0.0.1:${PORT};\n")
    site, refusing = "    access_log off;\n", "    location = /login { return 401; }\n"
    assert first
    assert site in rest
    text = head + of_http + first + of_server + rest.replace(site, site + refusing)
    template.write_text(text.replace(LOG, str(directory / LOG_NAME)))
    return folder


def opened_by(process: int) -> set[str]:
    """The names of the files that a process has open."""
    return {each.resolve().name for each in Path(f"/proc/{process}/fd").iterdir()}


@contextmanager
def capturing(shop: Deciding, directory: Path) -> Iterator[str]:
    """The commands of the recipe: the folder, then the capture until the block ends; the id of its
    API key."""
    key = made(
        shop.by("Owner").post(f"{shop.path}/api-keys", {"name": "capture", "can_sync": True})
    )
    environment = {
        **os.environ,
        "TIDEGATE_HOME": str(directory / "home"),
        "TIDEGATE_API_KEY": key["key"],
    }
    values = {
        "URL": shop.service.base_url,
        "TENANT_ID": shop.tenant_id,
        LOG: str(directory / LOG_NAME),
    }
    words = (shlex.split(line, comments=True) for line in blocks()[1].splitlines())
    init, run = ([sys.executable, "-m", *(values.get(e, e) for e in each)] for each in words)
    subprocess.run(init, env=environment, check=True, capture_output=True)
    log = directory / "capture.log"
    with log.open("wb") as out:
        process = subprocess.Popen(run, env=environment, stdout=out, stderr=out)
    try:
        wait_until(lambda: LOG_NAME in opened_by(process.pid))
        yield key["api_key_id"]
    finally:
        process.terminate()
        process.wait(30)


def test_three_refused_logins_behind_nginx_block_the_client(
    service: Service, tmp_path: Path, proxy: None
) -> None:
    """The first policy of the README fires by the log alone; Tidegate's own answers aren't
    outcomes."""
    (policy,) = re.findall(
        r"^```yaml file=shop.yaml\n(.*?)^```$",
        (ROOT / "README.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    shop = service.tenant(yaml.safe_load(policy))
    log = tmp_path / LOG_NAME
    with (
        running("nginx", service.base_url, shop.key, tmp_path, example(tmp_path)) as edge,
        capturing(shop, tmp_path) as api_key_id,
    ):
        assert [ask(edge.base_url, "/login").status for _ in range(2)] == [401, 401]
        wait_until(lambda: len(log.read_text().splitlines()) == 2)
        assert ask(edge.base_url, "/").status == 200
        assert ask(edge.base_url, "/login").status == 401
        wait_until(lambda: ask(edge.base_url, "/").status == 403)
        assert ask(edge.base_url, "/login").status == 403
    assert len(log.read_text().splitlines()) == 3
    recorded = shop.get("decisions", api_key_id=api_key_id)
    assert [each["action"] for each in recorded] == ["block", "allow", "allow"]
