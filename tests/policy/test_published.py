"""The entries that a published text gives a list."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.errors import DefinitionsError
from tidegate.policy.definitions.model import ListSource, NamedList
from tidegate.policy.document import read_document
from tidegate.policy.published import RefreshRefusedError, is_list_type, read_published


def named(
    format_: Any = "lines", *entries: str, kind: Any = "ip", pointer: str | None = None
) -> NamedList:
    """A list with a source."""
    source = ListSource(url="https://lists.example/a", format=format_, pointer=pointer)
    return NamedList(list_id="", name="A", slug="a", kind=kind, entries=entries, source=source)


def prefixes(*texts: object, name: str = "ipv4Prefix") -> bytes:
    return json.dumps(
        {"creationTime": "2026", "prefixes": [{name: each} for each in texts]}
    ).encode()


@pytest.mark.parametrize(
    ("content", "before", "entries"),
    [
        (prefixes("66.249.64.0/27", "66.249.64.0/27"), named("prefixes"), ("66.249.64.0/27",)),
        (prefixes("2001:4860::/32", name="ipv6Prefix"), named("prefixes"), ("2001:4860::/32",)),
        (
            b'{"prefixes": [{"ipv4Prefix": "1.1.1.0/24", "ipv6Prefix": "2606:4700::/32", "x": 1}]}',
            named("prefixes"),
            ("1.1.1.0/24", "2606:4700::/32"),
        ),
        (b"# a\r\n1.1.1.1 # b\r\n\n 8.8.8.0/24 ; c", named(), ("1.1.1.1", "8.8.8.0/24")),
        (b"\xef\xbb\xbfa.example\n#b\nc#d", named(kind="string"), ("a.example", "c#d")),
        (
            b'{"a/b": [0, {"~": ["1.1.1.1"]}]}',
            named("json-pointer", pointer="/a~1b/1/~0"),
            ("1.1.1.1",),
        ),
        (b'["x", "y"]', named("json-pointer", kind="string", pointer=""), ("x", "y")),
        (b"8.8.8.8\n1.1.1.1", named("lines", "1.1.1.1", "8.8.8.8"), ("1.1.1.1", "8.8.8.8")),
        (b"1.1.1.1\n8.8.8.8", named("lines", "1.1.1.1", "9.9.9.9"), ("1.1.1.1", "8.8.8.8")),
        (b"1.0.0.0/8", named(), ("1.0.0.0/8",)),
    ],
)  # fmt: skip
def test_a_published_list_is_read(
    content: bytes, before: NamedList, entries: tuple[str, ...]
) -> None:
    """Each format is read, and the same entries in another order aren't a change."""
    assert read_published(content, before) == entries


TWO = named("lines", "1.1.1.1", "8.8.8.8")


@pytest.mark.parametrize(
    ("content", "before", "code"),
    [
        (b"", named(), "source-empty"),
        (prefixes(), named("prefixes", "1.1.1.1"), "source-empty"),
        (b"1.1.1.1\n2.2.2.2\n3.3.3.3\n4.4.4.4", TWO, "source-change-too-large"),
        (b"1.1.1.1", named("lines", "1.1.1.1", "8.8.8.8", "9.9.9.9"), "source-change-too-large"),
        (b"1.1.1.1\nhello", named(), "source-invalid-entry"),
        (prefixes("1.1.1.0/33"), named("prefixes"), "source-invalid-entry"),
        (prefixes("2606:4700::/32"), named("prefixes"), "source-invalid-entry"),
        (prefixes(7), named("prefixes"), "source-invalid-entry"),
        (b'["a\\u0000"]', named("json-pointer", kind="string", pointer=""), "source-invalid-entry"),
        (b'[" "]', named("json-pointer", kind="string", pointer=""), "source-invalid-entry"),
        (b"[1]", named("json-pointer", kind="string", pointer=""), "source-unreadable"),
        (b'{"a": 1}', named("json-pointer", pointer="/a"), "source-unreadable"),
        (b'{"a": [[]]}', named("json-pointer", pointer="/a/00"), "source-unreadable"),
        (b'{"prefixes": [{"ip": "1.1.1.1"}]}', named("prefixes"), "source-unreadable"),
        (b'{"prefixes": ["1.1.1.1"]}', named("prefixes"), "source-unreadable"),
        (b'{"prefixes": {}}', named("prefixes"), "source-unreadable"),
        (b"[]", named("prefixes"), "source-unreadable"),
        (prefixes("1.1.1.1")[:-3], named("prefixes"), "source-unreadable"),
        (b"[" * 100_000, named("prefixes"), "source-unreadable"),
        (b"\x1f\x8b\x08", named(), "source-unreadable"),
        (b" <!DOCTYPE html>", named(kind="string"), "source-unreadable"),
        (b"0.0.0.0/0", named(), "source-network-too-wide"),
        (b"66.0.0.0/7", named(), "source-network-too-wide"),
        (b"2400::/18", named(), "source-network-too-wide"),
        (b"10.0.0.0/8", named(), "source-private-range"),
        (b"172.0.0.0/8", named(), "source-private-range"),
        (b"192.168.0.1", named(), "source-private-range"),
        (b"127.0.0.1", named(), "source-private-range"),
        (b"169.254.169.254", named(), "source-private-range"),
        (b"100.64.0.0/16", named(), "source-private-range"),
        (b"224.0.0.1", named(), "source-private-range"),
        (b"::1", named(), "source-private-range"),
        (b"fd00::/19", named(), "source-private-range"),
        (b"fe80::1", named(), "source-private-range"),
        (b"::ffff:10.0.0.1", named(), "source-invalid-entry"),
        (b"::ffff:a00:1", named(), "source-private-range"),
        (b"64:ff9b::a00:1", named(), "source-private-range"),
        (b"x" * 5_000_001, named(), "source-too-large"),
    ],
    ids=lambda each: each[:20].decode("latin-1") if isinstance(each, bytes) else "",
)  # fmt: skip
def test_a_list_that_looks_like_a_mistake_is_refused(
    content: bytes, before: NamedList, code: str
) -> None:
    """Nothing of it is used, and the code says why."""
    with pytest.raises(RefreshRefusedError) as refused:
        read_published(content, before)
    assert refused.value.code == code


def test_a_list_holds_no_more_entries_than_fit() -> None:
    """The service keeps fewer entries than the library."""
    with pytest.raises(RefreshRefusedError) as refused:
        read_published(b"1.1.1.1\n8.8.8.8", named(), most=1)
    assert refused.value.code == "source-too-large"


def test_the_type_of_an_answer_has_to_fit_the_format() -> None:
    """Pages are never lists, and servers that say nothing exact are believed."""
    lines, document = named("lines").source, named("prefixes").source
    assert lines is not None
    assert document is not None
    assert all(is_list_type(each, lines) for each in ("text/plain", "text/csv"))
    assert all(is_list_type(each, document) for each in ("application/json", "text/plain"))
    assert is_list_type("application/vnd.ranges+json", document)
    for source in (lines, document):
        assert not is_list_type("text/html", source)
        assert not is_list_type("image/png", source)
    assert not is_list_type("application/json", lines)


SOURCE = "apiVersion: tidegate/v1\nlists: [{{name: A, kind: {}, source: {{url: '{}', {}}}}}]"


@pytest.mark.parametrize(
    ("kind", "url", "rest", "code"),
    [
        ("ip", "http://a.example/", "format: lines", "invalid-url"),
        ("ip", "https://u:p@a.example/", "format: lines", "invalid-url"),
        ("ip", "https://a.example/#a", "format: lines", "invalid-url"),
        ("ip", "https://a.example/", "format: csv", "unknown-value"),
        ("ip", "https://a.example/", "refresh_seconds: 600", "missing-member"),
        ("ip", "https://a.example/", "format: lines, pointer: /a", "misplaced-member"),
        ("ip", "https://a.example/", "format: json-pointer", "missing-member"),
        ("ip", "https://a.example/", "format: json-pointer, pointer: a", "invalid-pointer"),
        ("ip", "https://a.example/", "format: json-pointer, pointer: /~2", "invalid-pointer"),
        ("string", "https://a.example/", "format: prefixes", "misplaced-member"),
        ("ip", "https://a.example/", "format: lines, refresh_seconds: 10", "out-of-range"),
        ("ip", "https://a.example/", "format: lines, max_change_percent: 0", "out-of-range"),
    ],
)
def test_a_source_that_cannot_be_used_is_refused_with_its_place(
    kind: str, url: str, rest: str, code: str
) -> None:
    """The document says how the list is published, exactly."""
    with pytest.raises(DefinitionsError) as refused:
        read_document(SOURCE.format(kind, url, rest))
    (found,) = refused.value.diagnostics
    assert found.code == code
    assert getattr(found, "pointer", "").startswith("/lists/0/source")


KEY = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
OTHER_KEY = "A" + KEY[1:]


def keys(*items: object) -> bytes:
    return json.dumps({"keys": items}).encode()


def test_published_keys_are_read_in_the_form_of_their_thumbprints() -> None:
    """Usable keys of a JWK Set become entries, and keys of other kinds and uses are left out."""
    rsa = {"kty": "RSA", "n": "A" * 342, "e": "AQAB", "kid": "1"}
    content = keys(
        {"kty": "OKP", "crv": "Ed25519", "x": KEY, "kid": "x", "use": "sig"},
        {"kty": "OKP", "crv": "X25519", "x": KEY},
        {"kty": "EC", "crv": "P-256", "x": "a", "y": "b"},
        {"kty": "OKP", "crv": "Ed25519", "x": OTHER_KEY, "use": "enc"},
        {"kty": ["OKP"], "crv": {}},
        rsa,
    )
    assert read_published(content, named("keys", kind="string")) == (
        f'{{"crv":"Ed25519","kty":"OKP","x":"{KEY}"}}',
        f'{{"e":"AQAB","kty":"RSA","n":"{"A" * 342}"}}',
    )


def test_all_keys_may_change_in_one_refresh() -> None:
    """New keys replace the old ones, however many they are."""
    old = f'{{"crv":"Ed25519","kty":"OKP","x":"{KEY}"}}'
    content = keys({"kty": "OKP", "crv": "Ed25519", "x": OTHER_KEY})
    (entry,) = read_published(content, named("keys", old, kind="string"))
    assert OTHER_KEY in entry


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"[]", "source-unreadable"),
        (b'{"keys": {}}', "source-unreadable"),
        (keys("x"), "source-unreadable"),
        (keys(), "source-empty"),
        (keys({"kty": "EC"}), "source-empty"),
        (keys({"kty": "OKP", "crv": "Ed25519"}), "source-invalid-entry"),
        (keys({"kty": "OKP", "crv": "Ed25519", "x": KEY + "AA"}), "source-invalid-entry"),
        (keys({"kty": "OKP", "crv": "Ed25519", "x": KEY[:-1] + "+"}), "source-invalid-entry"),
        (keys({"kty": "RSA", "e": "AQAB", "n": "A" * 170}), "source-invalid-entry"),
        (keys({"kty": "RSA", "e": "AQAB", "n": "A" * 800}), "source-invalid-entry"),
    ],
)
def test_keys_that_cannot_be_used_are_refused(content: bytes, code: str) -> None:
    """A text without usable keys, or with a broken one, is refused, so the last good keys stay."""
    with pytest.raises(RefreshRefusedError) as refused:
        read_published(content, named("keys", kind="string"))
    assert refused.value.code == code
