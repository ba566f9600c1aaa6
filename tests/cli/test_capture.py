"""``tidegate capture run --enforce`` where it would let strangers drop others."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.capture.packets import answer, damaged, frame, handshake

from tidegate_server.capture.frames import ACK, Frame
from tidegate_server.capture.sources import PcapWriter
from tidegate_server.cli.hybrid.capture import capture

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


def write(path: Path, frames: list[Frame]) -> None:
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for each in frames:
            writer.write(each.content, 0)


def test_of_a_file_only_confirmed_requests_are_printed(runner: CliRunner, tmp_path: Path) -> None:
    """Fifteen packets of a made-up sender are none; a setting of one side lets them count."""
    made_up = [frame(9, 100 + len(REQUEST) * number, ACK, REQUEST) for number in range(15)]
    wrong = [damaged(each) for each in made_up]
    good = [*handshake(5, 10), frame(5, 11, ACK, REQUEST), answer(5, 11 + len(REQUEST))]
    path = tmp_path / "traffic.pcap"
    write(path, [*made_up, *wrong, *good])
    words = ["run", "--source", "pcap", "--file", str(path), "--dry-run"]
    done = runner.invoke(capture, words)
    assert done.output.count('"/a"') == 1
    done = runner.invoke(capture, words, env={"TIDEGATE_CAPTURE_ONE_SIDED": "true"})
    assert done.output.count('"/a"') > 10
    assert "one side" in done.output
