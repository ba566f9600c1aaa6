"""``tidegate try``: what packs say of a log, without a document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_commands import Run, run
from tests.packs.access_log import nginx_line
from tests.shared_data import some_lines

from tidegate.packs import BUNDLED, bundled_packs, whole_document

__all__ = ["run"]
TIMES = {"seconds", "engine_seconds", "events_per_second"}
ODD = [
    '- - - [02/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "a"\n',
    "this isn't a line of a log\n",
    '192.0.2.9 - - [02/Mar/2026:10:00:00 +0000] "\\x16\\x03" 400 0 "-" "-"\n',
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real traffic as an access log of nginx, with a few lines that can't be read."""
    events = some_lines("data/traffic/events.jsonl.gz", 3_000)
    path = tmp_path_factory.mktemp("log") / "access.log"
    path.write_text("".join([*map(nginx_line, events), *ODD]))
    return path


def test_the_figures_are_those_of_decide(run: Run, log: Path, tmp_path: Path) -> None:
    """`try` counts exactly what `decide` counts over the packs as one document."""
    document = tmp_path / "packs.json"
    document.write_text(json.dumps(whole_document(bundled_packs())))
    tried = json.loads(run("try", str(log), "--json").stdout)
    decided = json.loads(run("decide", str(document), str(log), "--summary", "--json").stdout)
    assert tried.pop("packs").keys() == set(BUNDLED)
    for found in (tried, decided):
        for name in TIMES:
            del found[name]
    for policy in tried["policies"]:
        assert len(policy["addresses"]) <= 10 >= len(policy["paths"])
        policy["addresses"], policy["paths"] = policy["addresses"][:5], policy["paths"][:5]
    assert tried == decided
    assert tried["refused"]["unreadable-line"] >= 2
    assert {each["policy"] for each in tried["policies"]} >= {"vulnerability-probing-requests"}


def test_the_answer_is_text_that_names_every_policy(run: Run, log: Path) -> None:
    """Policies that fired have their figures; all others are named with a reason."""
    done = run("try", str(log))
    text = done.stdout.decode()
    assert done.returncode == 1
    assert b"error[unreadable-line]" in done.stderr
    assert "refused: unreadable-line" in text
    assert len(text.splitlines()) < 60
    for policy in whole_document(bundled_packs())["policies"]:
        assert policy["name"].lower().replace(" ", "-") in text


def test_one_pack_can_be_tried(run: Run) -> None:
    """Only the packs that are named decide; - is standard input."""
    line = '192.0.2.9 - - [02/Mar/2026:10:00:0{} +0000] "GET /.env HTTP/1.1" 404 1 "-" "GPTBot"\n'
    given = "".join(line.format(each) for each in range(4)).encode()
    done = run("try", "--pack", "vulnerability-probing", "--json", "-", stdin=given)
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["packs"].keys() == {"vulnerability-probing"}
    assert found["outcomes"] == {"allow": 2, "challenge": 0, "block": 2}
    assert found["policies"][0]["paths"] == [{"value": "/.env", "events": 2}]


def test_a_misspelt_pack_is_a_wrong_call(run: Run, log: Path) -> None:
    """The message names the pack that is probably meant."""
    done = run("try", "--pack", "scrapping", str(log))
    assert done.returncode == 2
    assert b"did you mean `scraping`?" in done.stderr


def test_addresses_behind_a_proxy_are_read(run: Run) -> None:
    """With the site's proxies named, the client is the address before them."""
    lines = b"".join(
        b'10.0.0.1 - - [02/Mar/2026:10:00:0%d +0000] "GET /.git/config HTTP/1.1" 404 1 "-" "a"'
        b' "192.0.2.9"\n' % number
        for number in range(3)
    )
    call = ("try", "--pack", "vulnerability-probing", "--json", "-")
    found = json.loads(run(*call, "--trusted-proxy", "10.0.0.0/8", stdin=lines).stdout)
    assert found["policies"][0]["addresses"] == [{"value": "192.0.2.9", "events": 1}]
    assert run(*call, "--trusted-proxy", "ten", stdin=lines).returncode == 2
