"""``python -m tests.console.commands.newcomer``: the console without Node.js.

On a machine with Python and Rust alone, ``make run`` in a clone of what is committed prints a link
that opens the console.  The wheels serve the same bytes from a fresh environment. The source
archive builds to them, and so does a second build of the sources.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import click
import httpx2 as httpx
from benchmarks.server.served import DEMONSTRATION
from playwright.sync_api import sync_playwright
from tests.browser import Watched, launched
from tests.newcomer.environment import WHEELS, ports
from tests.newcomer.pages import ROOT
from tests.newcomer.terminal import terminal

ABSENT = {"node", "nodejs", "npm", "npx", "corepack"}
ASSETS = Path("server/tidegate_server/console/assets")
LINK = r"http://\S+/console/#access_token=\S+"
SDIST = "import sys; from flit_core import buildapi; buildapi.build_sdist(sys.argv[1])"
LONG = 3600.0
"""Seconds that building everything may take."""


def programs(directory: Path) -> str:
    """A PATH with everything that is on this one, but for node."""
    directory.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        # This repository's own environment is not the newcomer's.
        if not folder.is_dir() or folder.is_relative_to(ROOT):
            continue
        for program in folder.iterdir():
            link = directory / program.name
            if program.name not in ABSENT and not link.is_symlink():
                link.symlink_to(program)
    python = directory / "python3"
    python.unlink(missing_ok=True)
    python.write_text(f'#!/bin/sh\nexec "{sys._base_executable}" "$@"\n')
    python.chmod(0o755)
    assert not any(shutil.which(each, path=str(directory)) for each in ABSENT)
    return str(directory)


def digests(assets: Path) -> dict[str, str]:
    """The hash of every file of a build, by its path."""
    return {
        str(each.relative_to(assets)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(assets.rglob("*"))
        if each.is_file()
    }


def in_wheel(wheel: Path) -> dict[str, str]:
    """The same of what a wheel carries."""
    folder = f"{ASSETS.relative_to('server')}/"
    with zipfile.ZipFile(wheel) as file:
        return {
            name.removeprefix(folder): hashlib.sha256(file.read(name)).hexdigest()
            for name in sorted(file.namelist())
            if name.startswith(folder) and not name.endswith("/")
        }


def run(command: list[str | Path], where: Path, environment: Mapping[str, str]) -> None:
    """A command that has to succeed."""
    subprocess.run(command, cwd=where, env=environment, check=True, capture_output=True)


def opens(link: str) -> None:
    """A browser that follows a link is logged in."""
    origin = link.partition("/console/")[0]
    with sync_playwright() as playwright, launched(playwright) as browser:
        watched = Watched.of(browser.new_context(), origin)
        watched.page.goto(link)
        watched.page.get_by_role("heading", name="Overview").wait_for()
        watched.page.get_by_text("Demo Owner").wait_for()
        watched.require_silence()


def make_run(clone: Path, environment: Mapping[str, str]) -> None:
    """`make run` in the clone, and its link in a browser."""
    with terminal(clone, {**environment, **ports()}) as shell:
        printed = shell.begin("make run", until=rf"{LINK}\s", throttle=LONG)
        found = re.search(LINK, printed)
        assert found, printed
        opens(found.group())
        shell.interrupt()


def served(wheel: Path, home: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The hashes of what the wheel serves from an environment of its own."""
    run(["python3", "-m", "venv", home], home.parent, environment)
    python = home / "bin/python"
    pip = [python, "-m", "pip", "install", "-q", "--find-links", wheel.parent]
    run([*pip, "tidegate[server]"], home, environment)
    process = subprocess.Popen(
        [python, *DEMONSTRATION], cwd=home, env=environment, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        base_url = json.loads(process.stdout.readline())["base_url"]
        found = {}
        for name in in_wheel(wheel):
            if not name.endswith((".br", ".gz")):
                path = "" if name == "index.html" else name
                answer = httpx.get(f"{base_url}/console/{path}")
                assert answer.status_code == 200, name
                found[name] = hashlib.sha256(answer.content).hexdigest()
        return found
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def step(said: str, begun: float) -> float:
    """Print what was shown and how long it took; gives the time now."""
    now = time.monotonic()
    click.echo(f"{now - begun:6.0f} s  {said}")
    return now


@click.command()
@click.option("--target", type=click.Path(path_type=Path), help="Where crates are built already.")
def main(target: Path | None) -> None:
    """Do what a newcomer does, and compare the bytes."""
    rust = {name: str(Path.home() / folder) for name, folder in RUST.items()}
    with tempfile.TemporaryDirectory(prefix="tg-") as scratch:
        home = Path(scratch)
        environment = {
            **rust,
            **{name: each for name, each in os.environ.items() if name in RUST or NETWORK(name)},
            "HOME": str(home),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "PATH": programs(home / "bin"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **({} if target is None else {"CARGO_TARGET_DIR": str(target)}),
        }
        clone = home / "tidegate"
        begun = time.monotonic()
        run(["git", "clone", "--quiet", ROOT, clone], home, environment)
        make_run(clone, environment)
        begun = step("`make run` of a clone opens the console", begun)
        first = digests(clone / ASSETS)
        assert len(first) > 1
        shutil.rmtree(clone / ASSETS)
        run([".venv/bin/python", "tools/console.py"], clone, environment)
        assert digests(clone / ASSETS) == first
        begun = step("a second build has the same bytes", begun)
        python = clone / ".venv/bin/python"
        for command in WHEELS:
            run([python, "-m", *command, home / "wheels"], clone, environment)
        (wheel,) = (home / "wheels").glob("tidegate_server-*.whl")
        assert in_wheel(wheel) == first
        plain = {name: each for name, each in first.items() if not name.endswith((".br", ".gz"))}
        assert served(wheel, home / "fresh", environment) == plain
        begun = step("the wheels serve the same bytes from a fresh environment", begun)
        run([python, "-c", SDIST, home / "sdist"], clone / "server", environment)
        (sdist,) = (home / "sdist").glob("*.tar.gz")
        pip = [home / "fresh/bin/python", "-m", "pip", "wheel", "-q", "--no-deps"]
        run([*pip, "--wheel-dir", home / "again", sdist], home, environment)
        (again,) = (home / "again").glob("*.whl")
        assert in_wheel(again) == first
        step("the sdist builds to the same bytes", begun)


RUST = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup"}
"""Where Rust is, below the home of whoever runs this."""
NETWORK = re.compile(
    r"(?i)(https?|all|no)_proxy|.*_(CERTS?|CERT_FILE|BUNDLE)|(pip|npm_config)_.*"
).fullmatch
"""Of variables that say how this machine reaches others."""

if __name__ == "__main__":
    main()
