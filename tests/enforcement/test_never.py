"""Addresses that are never dropped, as this machine says them."""

from __future__ import annotations

import json
from ipaddress import ip_address
from pathlib import Path

import pytest

from tidegate_server.enforcement import never as module
from tidegate_server.enforcement.never import HostError, Never, read_networks

ANSWERS = {
    ("addr",): [
        {"addr_info": [{"local": "192.0.2.10"}, {"local": "2001:db8::10"}]},
        {"addr_info": [{"local": "10.9.0.1", "address": "10.9.0.2"}]},
        {},
    ],
    ("-4", "route", "show", "table", "all", "default"): [
        {"dst": "default", "gateway": "192.0.2.1"},
        {"dst": "default", "nexthops": [{"gateway": "192.0.2.2"}, {"via": {"host": "fe80::2"}}]},
        {"dst": "default", "dev": "ppp0"},
    ],
    ("-6", "route", "show", "table", "all", "default"): [{"gateway": "fe80::1"}],
}
CONNECTIONS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0A0200C0:0016 640200C0:D431 01 00000000:00000000 02:000A 00000000     0        0 2 4 0
   2: 0A0200C0:0016 650200C0:D431 03 00000000:00000000 02:000A 00000000     0        0 3 4 0
   3: 0A0200C0:0050 660200C0:D431 01 00000000:00000000 02:000A 00000000     0        0 4 4 0
   4: 0A0200C0:1F90 670200C0:D431 01 00000000:00000000 02:000A 00000000     0        0 5 4 0
"""
CONNECTIONS_6 = """\
  sl  local_address                         remote_address                        st
   0: B80D0120000000000000000010000000:0016 B80D0120000000000000000064000000:D431 01 0:0 0:0 0 0 0 9
   1: 0000000000000000FFFF00000A0200C0:0016 0000000000000000FFFF0000680200C0:D431 01 0:0 0:0 0 0 0 9
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with interfaces, routes, name servers and sessions."""
    (tmp_path / "resolv.conf").write_text("# nameserver 9.9.9.9\nnameserver 192.0.2.53\n")
    (tmp_path / "tcp").write_text(CONNECTIONS)
    (tmp_path / "tcp6").write_text(CONNECTIONS_6)
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "1").write_text("UID=0\nREMOTE=1\nREMOTE_HOST=192.0.2.200\n")
    (tmp_path / "sessions" / "2").write_text("UID=0\nREMOTE=0\n")
    program = tmp_path / "bin" / "ip"
    program.parent.mkdir()
    lines = ["#!/bin/sh", "shift", 'case "$*" in']
    lines += [
        f"'{' '.join(words)}') echo '{json.dumps(said)}';;" for words, said in ANSWERS.items()
    ]
    program.write_text("\n".join([*lines, "*) exit 1;;", "esac", ""]))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(module, "_RESOLVERS", (tmp_path / "resolv.conf", tmp_path / "none"))
    monkeypatch.setattr(module, "_CONNECTIONS", (tmp_path / "tcp", tmp_path / "tcp6"))
    monkeypatch.setattr(module, "_SESSIONS", tmp_path / "sessions")
    return tmp_path


@pytest.mark.usefixtures("host", "namespace")
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.8.9.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("0.0.0.0", "not an address of one machine"),
        ("224.0.0.1", "not an address of one machine"),
        ("192.0.2.10", "address of this machine"),
        ("2001:db8::10", "address of this machine"),
        ("10.9.0.1", "address of this machine"),
        ("192.0.2.1", "gateway"),
        ("192.0.2.2", "gateway"),
        ("fe80::1", "gateway"),
        ("fe80::2", "gateway"),
        ("192.0.2.53", "name server"),
        ("192.0.2.100", "session on this machine"),
        ("2001:db8::64", "session on this machine"),
        ("192.0.2.104", "session on this machine"),
        ("192.0.2.200", "session on this machine"),
        ("198.51.100.9", "service or daemon"),
        ("203.0.113.4", "capture.never"),
        ("2001:db8:1::5", "capture.never"),
        ("9.9.9.9", ""),
        ("192.0.2.101", ""),
        ("192.0.2.102", ""),
        ("192.0.2.103", ""),
        ("203.0.114.4", ""),
    ],
)
def test_what_this_machine_depends_on_is_never_dropped(address: str, why: str) -> None:
    """Visitors, connections that are not open, and ports that are not SSH's are not in the list."""
    named = read_networks("203.0.113.0/24, 2001:db8:1::/48")
    never = Never(named, ["198.51.100.9", "nobody.invalid"], [80])
    never.resolve()
    never.refresh()
    assert never.reason(ip_address(address)) == why
    assert {"127.0.0.0/8", "192.0.2.1", "203.0.113.0/24"} <= never.listed().keys()


@pytest.mark.usefixtures("namespace")
def test_a_machine_that_cannot_be_read_enforces_nothing(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start that is an error; later the list stays as it was."""
    never = Never([], [], [80])
    (host / "bin" / "ip").unlink()
    monkeypatch.setenv("PATH", str(host))
    with pytest.raises(HostError, match=r"`ip .*` says nothing"):
        Never([], [], [80])
    with pytest.raises(HostError):
        never.refresh()
    assert never.reason(ip_address("192.0.2.1")) == "gateway"


@pytest.mark.usefixtures("host", "namespace")
def test_a_session_that_begins_is_added() -> None:
    """And one that ends is taken out."""
    never = Never([], [], [80])
    path = module._SESSIONS / "3"
    path.write_text("REMOTE_HOST=192.0.2.77\n")
    never.refresh()
    assert never.reason(ip_address("192.0.2.77"))
    path.unlink()
    never.refresh()
    assert not never.reason(ip_address("192.0.2.77"))
