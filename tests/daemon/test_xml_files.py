"""The XML files of a daemon's folder: what is not of their one form is refused unread."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shared_data import shared_lines
from tidegate_server.daemon.xml_files import MAX_BYTES, XmlFileError, parse, read, write

NAMES = ("api_key",)
PUBLISHED = ("credentials_cases", "xxe_files")
REPEATED = re.compile(r"\{(.*?) x (\d+)\}", re.DOTALL)
ACCEPTABLE = {"reject_or_accept_no_crash", "reject_empty", "reject_or_kl", "not_fetched"}
HOSTILE = [
    '<?xml version="1.0"?><!DOCTYPE c [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
    "<credentials><api_key>&e;</api_key></credentials>",
    '<!DOCTYPE c SYSTEM "http://127.0.0.1:9/x.dtd"><credentials/>',
    '<credentials xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file:///etc"/>'
    "</credentials>",
    "<credentials><api_key>a</api_key><api_key>b</api_key></credentials>",
    "<credentials><api_key>k<!-- c -->l</api_key></credentials>",
    "<credentials><api_key>&#13;&#10;x: y</api_key></credentials>",
    "<credentials><api_key>k</api_key></credentials>trailing",
    "<credentials><other>k</other></credentials>",
    '<credentials a="1"><api_key>k</api_key></credentials>',
    "<other/>",
    "<a>" * 100_000,
    "",
    "\ufeff<credentials/>",
]


def published() -> list[str]:
    """The published cases."""
    return [
        REPEATED.sub(lambda each: each[1] * min(int(each[2]), 100_000), case["xml"])
        for name in PUBLISHED
        for case in shared_lines(f"data/adversarial/xml/{name}.jsonl")
        if case.get("expect") not in ACCEPTABLE
    ]


@pytest.mark.parametrize("text", [*HOSTILE, *published()])
def test_anything_but_plain_texts_is_refused(text: str) -> None:
    """Types, entities, comments, attributes, duplicates and unknown elements are errors."""
    with pytest.raises(XmlFileError):
        parse(text.encode("utf-8", "surrogatepass"), "credentials", NAMES)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """A key with every visible character comes back, from a file for its owner alone."""
    path = tmp_path / "credentials.xml"
    value = "".join(map(chr, range(0x21, 0x7F)))
    write(path, "credentials", {"api_key": value})
    assert read(path, "credentials", NAMES) == {"api_key": value}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_long_file_is_refused() -> None:
    """At most 64 KiB are looked at."""
    with pytest.raises(XmlFileError):
        parse(b" " * (MAX_BYTES + 1), "credentials", NAMES)
