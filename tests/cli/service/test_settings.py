"""Settings from file, environment and flags, and what is said about a wrong one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tidegate.cli.main import tidegate
from tidegate.errors import SettingsError
from tidegate_server.settings.sources import load_settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file that the environment names."""
    path = tmp_path / "config.yaml"
    monkeypatch.setenv("TIDEGATE_CONFIG", str(path))
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tidegate, [*arguments])


def refusal(*arguments: str) -> str:
    """The message of a command with a wrong setting; it starts nothing."""
    result = run(*arguments)
    assert isinstance(result.exception, SettingsError), result.output
    text = str(result.exception)
    assert len(text.splitlines()) == 1
    return text


def test_a_settings_file_that_is_named_and_absent_is_refused(file: Path) -> None:
    """A name that leads nowhere is not passed over: another configuration would be served."""
    with pytest.raises(SettingsError, match="no such file") as caught:
        load_settings()
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "setting", "reason"),
    [
        ("server: {port: 99999}", "`server.port` is `99999`", "it must be 0 to 65,535"),
        ("server: {port: 80.5}", "`server.port` is `80.5`", "it must be a whole number"),
        ("server: {prt: 80}", "`server.prt`", "did you mean `server.port`?"),
        ("server: 5", "`server`", "it is a group of settings"),
        ("store: {durability: most}", "`store.durability` is `most`", "one of full, relaxed"),
        ("metrics: {token: [x]}", "`metrics.token`", "it must be a text"),
        ("workers: {processes: 0}", "`workers.processes` is `0`", "it must be 1 to 64"),
    ],
)
def test_a_wrong_value_in_the_file_is_named_with_the_file(
    file: Path, content: str, setting: str, reason: str
) -> None:
    """The message has one line: the setting, its value, the file, and the possible values."""
    file.write_text(content)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    text = str(caught.value)
    assert text.startswith(f"{setting} (from {file}): ")
    assert reason in text


@pytest.mark.parametrize("content", [": : :", "[]", "\x00", "5"])
def test_a_file_that_holds_no_settings_is_refused_with_its_name(file: Path, content: str) -> None:
    """YAML that does not parse, or isn't an object, is one line with the path."""
    file.write_text(content)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_value_in_the_environment_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The variable is what its author has to change."""
    monkeypatch.setenv("TIDEGATE_LOG_LEVEL", "loud")
    with pytest.raises(SettingsError, match="from TIDEGATE_LOG_LEVEL") as caught:
        load_settings()
    assert "`log.level` is `loud`" in str(caught.value)
    assert "debug, info, warning, error" in str(caught.value)


def test_a_secret_is_not_in_the_message(file: Path) -> None:
    """A wrong token is named and not shown."""
    file.write_text("metrics: {token: [very-secret]}")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("flag", "value", "reason"),
    [
        ("--server-port", "x", "it must be a whole number"),
        ("--port", "70000", "it must be 0 to 65,535"),
        ("--store-durability", "most", "it must be one of full, relaxed"),
        ("--server-drain-seconds", "nan", "it must be 0 to 3,600"),
    ],
)
def test_a_wrong_flag_is_named(flag: str, value: str, reason: str) -> None:
    """A flag is held to the same as the file, in the same words."""
    text = refusal("config", "show", flag, value)
    assert f"is `{value}` (from --" in text
    assert reason in text


def test_choices_are_in_the_help() -> None:
    """The help of a setting lists the values of its enumeration."""
    assert "[full|relaxed]" in run("config", "show", "--help").output


def test_own_options_are_listed_before_the_settings() -> None:
    """The option of a command is not lost behind thirty settings."""
    text = run("serve", "--help").output
    assert 0 < text.index("--demo") < text.index("Settings:") < text.index("--server-host")


def test_host_and_port_are_short_for_the_settings() -> None:
    """The two settings that everybody sets have short names."""
    shown = run("config", "show", "--host", "::1", "--port", "0").output
    assert "server.host: '::1'" in shown
    assert "server.port: 0" in shown


def test_secrets_are_concealed_where_settings_are_shown() -> None:
    """A configuration can be pasted into a ticket."""
    for form in ([], ["--json"]):
        shown = run("config", "show", "--metrics-token", "very-secret", *form).output
        assert "very-secret" not in shown
        assert "concealed" in shown


def test_a_directory_that_cannot_be_made_is_refused_with_its_setting(tmp_path: Path) -> None:
    """A file in the way is named as the value of the setting, with the flag that gave it."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    for command in (["serve"], ["migrate"]):
        text = refusal(*command, "--store-directory", str(blocked / "data"))
        assert "`store.directory` is" in text
        assert "from --store-directory" in text
    text = refusal("operator", "list", "--store-directory", str(blocked / "data"))
    assert "from --store-directory" in text


def test_tls_files_that_cannot_be_used_are_refused_before_anything_starts(tmp_path: Path) -> None:
    """Absent, alone, or no certificate: the setting is named and no directory is made."""
    data = tmp_path / "data"
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate")
    absent = str(tmp_path / "absent.pem")
    for flags, setting, reason in (
        (["--server-tls-certificate", absent, "--server-tls-key", absent],
         "`server.tls_certificate` is", "it cannot be read: No such file"),
        (["--server-tls-key", str(nonsense)],
         "`server.tls_certificate` is", "it is needed beside `server.tls_key`"),
        (["--server-tls-certificate", str(nonsense), "--server-tls-key", str(nonsense)],
         "`server.tls_certificate` is", "in PEM"),
    ):  # fmt: skip
        text = refusal("serve", "--store-directory", str(data), *flags)
        assert setting in text
        assert reason in text
    assert not data.exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", ""])
def test_plain_http_where_other_machines_reach_it_is_refused(host: str, tmp_path: Path) -> None:
    """Keys and tokens do not cross a network in the clear by an oversight."""
    text = refusal("serve", "--host", host, "--store-directory", str(tmp_path / "data"))
    assert f"`server.host` is `{host}` (from --server-host)" in text
    assert "server.behind_proxy" in text


def test_a_daemon_takes_its_own_settings_alone(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag of the service is refused. The file may have the service's settings too."""
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    file.write_text("server: {port: 8099}\ndaemon: {port: 0}\nlog: {level: error}\n")
    refused = run("run", "--server-port", "9")
    assert refused.exit_code == 2
    assert "No such option" in refused.output
    shown = run("run", "--help").output
    groups = set(re.findall(r"^  (?:-h, )?--([a-z]+)", shown, re.MULTILINE))
    assert groups == {"daemon", "geo", "remote", "log", "json", "help"}
    started = run("run")
    assert "there is no folder" in str(started.exception)
