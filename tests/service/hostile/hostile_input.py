"""Input made to break a service: what is shipped, and the large sets where they are at hand."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import attrs
import orjson
from tests.shared_data import shared_lines, shared_path, some_lines

DATA = "data/adversarial"
MOST_TEXTS = 60
"""Texts of each set: a definition is made of each."""


@attrs.frozen
class Case:
    """One input.

    Attributes:
        accepted: whether it has to be; None where both are good.
    """

    name: str
    content: Any
    accepted: bool | None = None


BODIES = (
    Case("nothing", b"", False),
    Case("a brace", b"{", False),
    Case("not UTF-8", b'{"fields":{"a":"\xff"}}', False),
    Case("byte order mark", b'\xef\xbb\xbf{"fields":{"a":"b"}}', False),
    Case("UTF-16", '{"fields":{"a":"b"}}'.encode("utf-16"), False),
    Case("NaN", b'{"fields":{"a":NaN}}', False),
    Case("number out of range", b'{"fields":{"a":1e400}}'),
    Case("number of 5,000 digits", b'{"fields":{"a":' + b"1" * 5_000 + b"}}"),
    Case("member given twice", b'{"fields":{"a":"b","a":"c"}}', False),
    Case("half a surrogate pair", b'{"fields":{"a":"\\ud800"}}', False),
    Case("NUL", b'{"fields":{"a":"\\u0000"}}'),
    Case("deep list", b"[" * 30_000 + b"]" * 30_000, False),
    Case("deep object", b'{"fields":' * 5_000 + b"{}" + b"}" * 5_000, False),
    Case("two values", b"{}{}", False),
    Case("many members", json.dumps({"fields": {str(n): n for n in range(5_000)}}).encode(), False),
    Case("white space", b" " * 60_000, False),
    Case("past the limit", b" " * 70_000, False),
    Case("far past the limit", b"[" * 20_000_000, False),
)

REQUESTS = (
    Case("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", False),
    Case("both framings", b"POST {P} HTTP/1.1\r\nHost: t\r\nx-service-api-key: {K}\r\n"
         b"content-type: application/json\r\nContent-Length: 6\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n"
         b"Host: t\r\n\r\n", False),
    Case("two lengths", b"POST {P} HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nContent-Length: 9"
         b"\r\n\r\n{}GET /smuggled HTTP/1.1\r\nHost: t\r\n\r\n", False),
    Case("header in two lines", b"GET {P} HTTP/1.1\r\nHost: t\r\nx-a: b\r\n c\r\n\r\n"),
    Case("many headers", b"GET {P} HTTP/1.1\r\nHost: t\r\n" + b"x: y\r\n" * 5_000 + b"\r\n", False),
    Case("long address", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: t\r\n\r\n", False),
    Case("key given twice", b"POST {P} HTTP/1.1\r\nHost: t\r\nx-service-api-key: {K}\r\n"
         b"x-service-api-key: {K}\r\ncontent-type: application/json\r\nContent-Length: 2\r\n\r\n{}",
         False),
    Case("key with an underscore", b"POST {P} HTTP/1.1\r\nHost: t\r\nx_service_api_key: {K}\r\n"
         b"content-type: application/json\r\nContent-Length: 2\r\n\r\n{}", False),
)  # fmt: skip
"""``{P}`` stands for a path and ``{K}`` for a good key."""

TEXTS = (
    "",
    "\x00",
    "a\r\nb: c",
    "\x1b[2J\x1b]0;title\x07",
    "\u202eevil",
    "\ufeff",
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "%s%n",
    "../../etc/passwd",
    '{"level":"error"}',
    "ﷺ" * 100,
)

TIMES = (
    Case("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z", True),
    Case("year 10000", "10000-01-01T00:00:00Z", False),
    Case("month 0", "2026-00-01T00:00:00Z", False),
    Case("hour 24", "2026-01-01T24:00:00Z", False),
    Case("no offset", "2026-01-01T00:00:00", False),
    Case("first second", "0001-01-01T00:00:00Z"),
    Case("last second", "9999-12-31T23:59:59Z"),
)

BLOCKS = (
    Case("line break", {"headers": {"x-a": "a\r\nb"}}, False),
    Case("hop by hop", {"headers": {"connection": "close"}}, False),
    Case("no token", {"headers": {"x a": "b"}}, False),
    Case("a prototype", {"headers": {"__proto__": "x"}}, False),
    Case("our key", {"headers": {"x-service-api-key": "x"}}, False),
    Case("a status of success", {"status_code": 200}, False),
    Case("a bool for a status", {"status_code": True}, False),
    Case("retry-after", {"headers": {"retry-after": "60"}, "status_code": 429}, True),
)
"""Members of a block answer."""


def json_suite() -> list[Case]:
    """Bodies of the published suite: what isn't JSON is refused, and JSON may not be an event."""
    found = []
    for each in shared_lines(f"{DATA}/json/jsontestsuite.jsonl"):
        if "body_b64" in each:
            body = base64.b64decode(each["body_b64"])
        else:
            repeat = each["repeat"]
            body = (repeat["unit"] * repeat["count"] + repeat.get("tail", "")).encode()
        found.append(Case(each["name"], body, {"reject": False}.get(each["expect"])))
    return found


_GROUPS = {
    "many_headers": "headers",
    "many_query_params": "query_params",
    "many_cookies": "cookies",
}


def event_bombs() -> Iterator[Case]:
    """Events of the shared set that are one body."""
    for each in shared_lines(f"{DATA}/json/event_bombs.jsonl"):
        for body in _bombs(each):
            yield Case(each["id"], body)


def _bombs(bomb: dict[str, Any]) -> list[bytes]:
    depth, count, size = (bomb.get(name, 0) for name in ("depth", "count", "bytes"))
    hexed = bytes.fromhex(bomb.get("hex", ""))
    match bomb["name"]:
        case "nest_array_in_fields":
            return [b'{"fields":{"a":' + b"[" * depth + b"]" * depth + b"}}"]
        case "nest_object_in_request_headers":
            return [b'{"request":{"headers":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}}"]
        case "many_fields":
            return [orjson.dumps({"fields": {f"f{n}": "v" for n in range(count)}})]
        case "many_headers" | "many_query_params" | "many_cookies":
            group = {f"n{n}": "v" for n in range(count)}
            return [orjson.dumps({"request": {_GROUPS[bomb["name"]]: group}})]
        case "one_long_string":
            return [b'{"fields":{"a":"' + b"x" * size + b'"}}']
        case "whitespace_only_body" | "body_over_limit_chunked_no_length":
            return [b" " * size]
        case "number_literal_where_string_expected":
            return [b'{"fields":{"a":' + bomb["literal"].encode() + b"}}"]
        case "duplicate_key":
            members = ",".join(f'"{bomb["key"]}":"{value}"' for value in bomb["values"])
            return [f"{{{members}}}".encode()]
        case "string_escape":
            return [b'{"fields":{"a":"' + bomb["escape"].encode() + b'"}}']
        case "raw_utf8_bytes_in_string":
            return [b'{"fields":{"a":"' + hexed + b'"}}']
        case "body_bytes":
            return [hexed]
        case "field_name":
            return [json.dumps({"fields": {bomb["key"]: "v"}}).encode()]
        case "idempotency_key_len":
            keys = [{"fields": {"a": "b"}, "idempotency_key": "k" * n} for n in bomb["len"]]
            return [json.dumps(each).encode() for each in keys]
    # The others are about many requests: idempotency and state have tests of their own.
    return []


def raw_requests() -> Iterator[Case]:
    """Requests as bytes, of two sets."""
    for each in shared_lines(f"{DATA}/http/raw_hostile.jsonl"):
        text = re.sub(
            r"{REPEAT (\d+) ([^{}]*){i}([^{}]*)}",
            lambda found: "\r\n".join(
                f"{found[2]}{number}{found[3]}" for number in range(int(found[1]))
            ),
            each["raw"],
        )
        bomb = gzip.compress(bytes(1_000_000))
        raw = text.encode("latin-1").replace(b"{LEN}", b"%d" % len(bomb))
        raw = raw.replace(b"{GZIP_1000_TO_1}", bomb)
        expected = each["expect"]
        is_refused = expected.startswith("400_then") or "never routed" in expected
        yield Case(each["name"], raw, False if is_refused else None)
    for each in shared_lines(f"{DATA}/http/llhttp_requests.jsonl"):
        yield Case(each["name"], base64.b64decode(each["raw_b64"]))


def header_values() -> list[bytes]:
    """Values of headers from the tests of structured fields."""
    found = shared_lines(f"{DATA}/http/structured_fields.jsonl")
    values = [value.encode("latin-1", "replace") for each in found for value in each["raw"]]
    return [value for value in values if len(value) < 8_000]


def texts() -> list[str]:
    """Strings that break programs, logs and terminals."""
    names = [f"{DATA}/strings/blns.jsonl", f"{DATA}/logs/injection.jsonl"]
    return [each["s"] for name in names for each in some_lines(name, MOST_TEXTS)]


def times() -> Iterator[Case]:
    """Values of ``observed_at``; those relative to now are left out."""
    for each in shared_lines(f"{DATA}/time/observed_at.jsonl"):
        if "{" not in each["s"]:
            yield Case(each["s"], each["s"], {"accept": True, "reject": False}.get(each["expect"]))


def blocks() -> Iterator[Case]:
    """Members of a block answer, with the verdict at definition."""
    for each in shared_lines(f"{DATA}/headers/block_action.jsonl"):
        block = (
            {"headers": {each["name"]: each["value"]}}
            if "name" in each
            else {"status_code": each["status_code"]}
        )
        accepted = {"accept": True, "reject": False}.get(each["at_definition"])
        yield Case(each["id"], block, accepted)


def tokens() -> Iterator[str]:
    """Published tokens, for other keys."""
    for kind in ("signature", "encryption", "key", "crypto"):
        path = shared_path(f"{DATA}/jwt/wycheproof_json_web_{kind}_test.json")
        for group in json.loads(path.read_text())["testGroups"]:
            for each in group["tests"]:
                text = each.get("jws") or each.get("jwe")
                yield text if isinstance(text, str) else json.dumps(text)


def known_secrets() -> list[str]:
    """Secrets that tokens of careless services were signed with."""
    return [each["secret"] for each in shared_lines(f"{DATA}/jwt/known_secrets.jsonl")]
