"""``tidegate lists refresh``: from the arguments to the document and the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.test_commands import Run, run
from tests.publisher import Page, Publisher, publishing

from tidegate.definitions import load_definitions
from tidegate.fetching import trusted

__all__ = ["run"]
LOOPBACK = ("--allow-network", "127.0.0.0/8")


@pytest.fixture
def publisher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A publisher whose certificate the command trusts."""
    with publishing(tmp_path) as running:
        monkeypatch.setenv("SSL_CERT_FILE", str(running.authority))
        trusted.cache_clear()
        yield running
        trusted.cache_clear()


@pytest.fixture
def site(tmp_path: Path, publisher: Publisher) -> Path:
    """A document with a published list, and one of the site's own."""
    path = tmp_path / "shop.yaml"
    path.write_text(
        f"""\
apiVersion: tidegate/v1
# Lists of the shop.
lists:
  # agents that may pass
  - name: Bots
    kind: ip
    source:
      url: {publisher.url("/bots.json", "127.0.0.1")}
      format: prefixes
    entries: [1.1.1.0/24, 8.8.8.8]
  - name: Office
    kind: ip
    entries: [192.0.2.0/24]  # ours
"""
    )
    return path


def entries(path: Path) -> tuple[str, ...]:
    return load_definitions(path).lists[0].entries


def test_new_entries_are_written_into_the_document(
    run: Run, site: Path, publisher: Publisher
) -> None:
    """Only the list is written again, comments elsewhere stay, and a repetition changes nothing."""
    publisher.pages["/bots.json"] = Page(
        b'{"prefixes": [{"ipv4Prefix": "1.1.1.0/24"}, {"ipv6Prefix": "2606:4700::/32"}]}'
    )
    before = site.read_text()
    assert run("lists", "refresh", str(site), *LOOPBACK, "--dry-run").returncode == 0
    assert site.read_text() == before
    done = run("lists", "refresh", str(site), "bots", *LOOPBACK)
    assert (done.returncode, done.stdout) == (0, b"bots: 2 entries, 1 added, 1 removed\n")
    assert entries(site) == ("1.1.1.0/24", "2606:4700::/32")
    for line in ("# Lists of the shop.", "  # agents that may pass", "# ours"):
        assert line in site.read_text()
    after = site.read_text()
    (found,) = json.loads(run("lists", "refresh", str(site), *LOOPBACK, "--json").stdout)
    assert (found["list"], found["outcome"], found["entries"]) == ("bots", "unchanged", 2)
    assert site.read_text() == after


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (Page(b'{"prefixes": [{"ipv4Prefix": "10.0.0.0/8"}]}'), "source-private-range"),
        (Page(b"x" * 5_000_001), "source-too-large"),
        (Page(b"<html>", {"content-type": "text/html"}), "source-wrong-type"),
    ],
    ids=["private", "large", "html"],
)
def test_a_refused_refresh_leaves_the_document_as_it_is(
    run: Run, site: Path, publisher: Publisher, page: Page, code: str
) -> None:
    """The reason is printed with its code, which can be explained, and the exit code is 1."""
    publisher.pages["/bots.json"] = page
    before = site.read_bytes()
    done = run("lists", "refresh", str(site), *LOOPBACK)
    assert done.returncode == 1
    assert f"[{code}]" in done.stderr.decode()
    assert site.read_bytes() == before
    (found,) = json.loads(run("lists", "refresh", str(site), *LOOPBACK, "--json").stdout)
    assert (found["outcome"], found["code"], found["entries"]) == ("refused", code, 2)
    assert run("explain-code", code).returncode == 0


def test_loopback_is_refused_without_the_option(run: Run, site: Path, publisher: Publisher) -> None:
    """Nothing is asked of a server that isn't public."""
    done = run("lists", "refresh", str(site))
    assert b"[source-address-not-public]" in done.stderr
    assert (done.returncode, publisher.asked) == (1, [])


def test_a_list_that_cannot_be_refreshed_is_a_wrong_call(run: Run, site: Path) -> None:
    """An unknown list, one without a source, and a document without any."""
    for arguments in (("bot",), ("office",), ("bots", "--allow-network", "x")):
        assert run("lists", "refresh", str(site), *arguments).returncode == 2
    site.write_text("apiVersion: tidegate/v1\n")
    assert run("lists", "refresh", str(site)).returncode == 2
