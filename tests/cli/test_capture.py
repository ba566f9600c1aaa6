"""``tidegate capture run --enforce`` where it would let strangers drop others."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.capture.packets import answer, damaged, frame, handshake

from tidegate_server.capture import running
from tidegate_server.capture.frames import ACK, Frame
from tidegate_server.capture.running import Capture
from tidegate_server.capture.sources import PcapWriter
from tidegate_server.cli.hybrid.capture import capture
from tidegate_server.settings.hybrid import CaptureSettings

REQUEST = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Commands under a home of their own."""
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    return CliRunner()


@pytest.mark.parametrize(
    ("words", "setting", "reason"),
    [
        (["--interface", "lo"], {"TIDEGATE_CAPTURE_ONE_SIDED": "true"}, "capture.one_sided"),
        (["--source", "pcap", "--file", __file__], {}, "of a file"),
        (["--interface", "lo", "--filter", "tcp"], {}, "names none"),
        (["--interface", "lo", "--filter", "tcp src port 80"], {}, "names none"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_it_is_refused(
    runner: CliRunner, words: list[str], setting: dict[str, str], reason: str, more: list[str]
) -> None:
    """Before anything is read or changed."""
    done = runner.invoke(capture, ["run", "--enforce", *words, *more], env=setting)
    assert done.exit_code == 2
    assert reason in " ".join(done.output.split())


def test_networks_that_are_none_are_refused(runner: CliRunner) -> None:
    """A misspelt network would not be spared."""
    setting = {"TIDEGATE_CAPTURE_NEVER": "10.0.0.0/8, 10.0.0.300"}
    done = runner.invoke(capture, ["run", "--interface", "lo"], env=setting)
    assert done.exit_code != 0
    assert "10.0.0.300" in f"{done.output} {done.exception}"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--file", __file__], "give --source access-log or --source pcap"),
        (["--source", "access-log"], "--file is missing"),
        (["--source", "access-log", "--file", "no-such.log"], "no such file: `no-such.log`"),
        (["--source", "interface"], "--interface is missing"),
        (
            ["--source", "access-log", "--file", __file__, "--filter", "tcp dst port 80"],
            "--filter chooses packets, and an access log has none",
        ),
        (["--interface", "lo", "--format", "caddy"], "--format is of access logs"),
    ],
)
def test_it_says_what_a_source_lacks(runner: CliRunner, words: list[str], reason: str) -> None:
    """An option that would be ignored is refused too."""
    done = runner.invoke(capture, ["run", *words])
    assert done.exit_code == 2
    assert reason in " ".join(done.output.split())


def test_a_log_without_new_lines_is_said_to_be_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first lines say what is read; a capture without a request soon says what it waits for."""
    monkeypatch.setattr(running, "WAIT_SECONDS", 0.0)
    log = tmp_path / "access.log"
    log.write_text("an earlier line\n")
    waits: list[str] = []
    settings = CaptureSettings(source="access-log", file=str(log))
    made = Capture(
        settings,
        None,
        lambda *_: None,
        str.encode,
        lambda: bool(waits),
        waits=lambda: waits.append("waits"),
    )
    made.run()
    assert (waits, made.seen) == (["waits"], 0)


def write(path: Path, frames: list[Frame]) -> None:
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for each in frames:
            writer.write(each.content, 0)


def test_of_a_file_only_confirmed_requests_are_printed(runner: CliRunner, tmp_path: Path) -> None:
    """Packets of a made-up sender aren't printed, unless a setting lets one side count."""
    made_up = [frame(9, 100 + len(REQUEST) * number, ACK, REQUEST) for number in range(15)]
    wrong = [damaged(each) for each in made_up]
    good = [*handshake(5, 10), frame(5, 11, ACK, REQUEST), answer(5, 11 + len(REQUEST))]
    path = tmp_path / "traffic.pcap"
    write(path, [*made_up, *wrong, *good])
    words = ["run", "--source", "pcap", "--file", str(path), "--dry-run"]
    done = runner.invoke(capture, words)
    assert f"reading the requests in {path}" in done.output.replace("\n", "")
    assert done.output.count('"/a"') == 1
    done = runner.invoke(capture, words, env={"TIDEGATE_CAPTURE_ONE_SIDED": "true"})
    assert done.output.count('"/a"') > 10
    assert "one side" in done.output
