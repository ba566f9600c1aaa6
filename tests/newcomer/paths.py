"""Three ways into Tidegate: to embed it, to operate it, to measure it.

Each takes a terminal whose shell has Tidegate, and a directory with an access log.  The commands
stand on the pages; a newcomer's own are the values that a page cannot know: an address, a secret,
a path, what is asked for.
"""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

from tests.newcomer.pages import blocks, lines, write_files
from tests.newcomer.terminal import PATIENCE, Terminal, terminal

ACCESS_LOG = "".join(
    f'192.0.2.7 - - [02/Mar/2026:10:00:{second:02} +0000] "POST /login HTTP/1.1" 401 5 "-" "a/8"\n'
    for second in range(4)
)
"""Four failed logins: the policy of the README lets two pass."""
FAILED_LOGIN = (
    '{"request": {"method": "POST", "path": "/login", "client_ip": "192.0.2.7"},'
    ' "fields": {"status": "401"}}'
)
CALL = r"curl -s (?:[^']|'[^']*')*? -d '[^']*'"
"""A call to try, as commands print it, over one line or more."""
MOMENT = 0.1
"""Seconds between two looks."""
PASSWORD = "a password of mine, long enough"


def decide_a_log(shell: Terminal) -> str:
    """The README's policy over an access log; gives the table of answers."""
    write_files("README.md", shell.directory)
    (shell.directory / "access.log").write_text(ACCESS_LOG)
    _, _, *commands = lines("README.md", "First steps")
    printed = {line.split()[1]: shell.type(line) for line in commands}
    assert "ok: 1 actions" in printed["check"]
    assert re.search(r"block\D+2\D+50\.0%", printed["decide"]), printed["decide"]
    assert "allow (no-match)" in printed["explain"], printed["explain"]
    return printed["decide"]


def embed(shell: Terminal) -> None:
    """The examples of the page *Embedding*, and its two processes behind gunicorn."""
    decide_a_log(shell)
    for page in ("README.md", "docs/embedding.md"):
        text = "".join(block.text for block in blocks(page) if ">>>" in block.text)
        (shell.directory / "examples.txt").write_text(text)
        shell.type("python -m doctest -o ELLIPSIS -o NORMALIZE_WHITESPACE examples.txt")
    write_files("docs/embedding.md", shell.directory)
    install, settings, decider, workers = lines("docs/embedding.md", "Processes")
    shell.type(install)
    shell.type(settings.replace("/run/shop", str(shell.directory)).replace("…", "a-secret"))
    shell.type(decider)
    site = re.findall(r"http://\S+", shell.begin(workers, until=r"Listening at: \S+"))[-1]
    # Each visit before that would print a traceback on the terminal, which holds only some of them.
    wait_for(shell.directory / "decider.sock")
    asked = 1
    while visit(site) == 500:  # the file is there a moment before the decider listens
        asked += 1
        assert asked < 20, "the decider does not listen"
        time.sleep(MOMENT)
    assert [visit(f"{site}/login") for _ in range(3)] == [200, 200, 200]
    shell.interrupt()


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    ends = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < ends, f"{path} is not there"
        time.sleep(MOMENT)


def visit(url: str) -> int:
    """The status of an answer; 500 where there isn't one: gunicorn closes on an `OSError`."""
    with suppress(urllib.error.HTTPError, http.client.RemoteDisconnected):
        return int(urllib.request.urlopen(url, timeout=PATIENCE).status)
    return 500


def operate(shell: Terminal) -> None:
    """A service with a policy of one's own, by the page *The service*; it blocks a third login."""
    install, demo, directory, init, serve, token, export, dry, apply = lines(
        "docs/service.md", "The service"
    )
    shell.type(install)
    printed = shell.begin(demo, until=CALL)
    with terminal(shell.directory, shell.environment) as other:
        assert action(other.type(call_of(printed))) == "allow"
    shell.interrupt()
    shell.type(directory.replace("/var/lib/tidegate", str(shell.directory / "data")))
    said = shell.type(
        init,
        answers={
            "Email address of the first operator:": "me@example.com",
            "Name of the tenant:": "My Shop",
            "Password (at least 12 characters):": PASSWORD,
            "Repeat for confirmation:": PASSWORD,
        },
    )
    shell.type(serve)
    shell.read(until="serving on")
    with terminal(shell.directory, shell.environment) as other:
        for line in (directory, token, export):
            other.type(line.replace("/var/lib/tidegate", str(shell.directory / "data")))
        write_files("README.md", shell.directory)
        other.type(dry, code=2)
        other.type(apply, answers={"Delete what the document lacks? [y/N]:": "y"})
        mine = re.sub(r"-d '.*'$", lambda _: f"-d '{FAILED_LOGIN}'", call_of(said))
        assert [action(other.type(mine)) for _ in range(3)] == ["allow", "allow", "block"]


def call_of(printed: str) -> str:
    """The first call to try of what a command printed."""
    found = re.search(CALL, printed)
    assert found, printed
    return found.group().replace("\r\n", "\n")


def action(printed: str) -> str:
    """The action in an answer of the service."""
    found = re.search(r'"action":\{"type":"(\w+)"', printed)
    assert found, printed
    return found[1]


def measure(shell: Terminal) -> int:
    """Events a second of one's own policy over one's own log, by the page *Benchmarks*."""
    write_files("README.md", shell.directory)
    (shell.directory / "access.log").write_text(ACCESS_LOG * 500)
    for line in lines("benchmarks/README.md", "Your own policy and traffic"):
        printed = shell.type(line)
    found = re.search(r"([\d,]+) events/s", printed)
    assert found, printed
    return int(found[1].replace(",", ""))
