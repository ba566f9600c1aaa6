"""Warnings: what they are about, and that good expressions have none."""

from __future__ import annotations

import pytest

from tidegate.language.check.checker import check
from tidegate.language.check.lint import key_warnings
from tidegate.language.tree.schema import Schema

SCHEMA = Schema.default()

WARNED = [
    ("true", "always-true"),
    ("request.path == \"/\" || true", "always-true"),
    ("request.path == \"/\" && false", "always-false"),
    ("request.path == \"/\" && true", "always-true"),
    ("true ? 1 : 2", "always-true"),
    ("request.path == request.path", "always-true"),
    ("request.path != request.path", "always-false"),
    ("request.method == \"GET\" && request.method == \"POST\"", "always-false"),
    ("size(request.path) >= 0", "always-true"),
    ("size(request.path) < 0", "always-false"),
    ("request.path in []", "always-false"),
    ("request.path.containsAny([])", "always-false"),
    ("request.path in [\"/a\", \"/b\", \"/a\"]", "duplicate-list-entry"),
    ("request.host.matches(\"^a\")", "needless-pattern"),
    ("request.host.matchesAny([\"a\", \"b.c\"])", "needless-pattern"),
    ("request.path.matches(\"a.*b\")", "unanchored-path-pattern"),
    ("request.path.lower() == \"/Admin\"", "wrong-letter-case"),
    ("\"/Admin\" == request.path.lower()", "wrong-letter-case"),
    ("request.path.lower() in [\"/a\", \"/B\"]", "wrong-letter-case"),
    ("request.path.upper().contains(\"admin\")", "wrong-letter-case"),
    ("request.method == \"get\"", "wrong-letter-case"),
    ("request.host.endsWith(\".Example.test\")", "wrong-letter-case"),
    ("request.query_params[\"role\"] == \"admin\"", "evadable-by-repeat"),
    ("\"admin\" == request.query_params.role", "evadable-by-repeat"),
    ("request.query_params.role.lower() in [\"admin\", \"root\"]", "evadable-by-repeat"),
    ("request.query_params.exists(k, request.query_params[k] == \"x\")", "evadable-by-repeat"),
    ("!(request.path == \"/a\" && !(request.cookies.f == \"x\"))", "evadable-by-repeat"),
    ("request.cookies[\"f\"] == \"x\" || request.arguments.size() > 9", "evadable-by-repeat"),
    ("derived.lenient_path.matches(\"a.*b\")", "unanchored-path-pattern"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), WARNED)
def test_warnings(text: str, code: str) -> None:
    """An expression that is most likely not meant gets a warning, and isn't refused."""
    found = check(text, SCHEMA).warnings
    assert [warning.code for warning in found] == [code]
    assert found[0].severity == "warning"


@pytest.mark.parametrize(
    "text",
    [
        'request.method in ["GET", "HEAD"] && request.path.startsWith("/api/")',
        'request.method == "GET" || request.method == "POST"',
        'request.method == "GET" && request.path == "/"',
        'request.path.matches("^/(a|b)/") || request.path.matches("[.]php[0-9]?$")',
        'request.path.lower().contains("/admin")',
        "size(request.path) > 0",
        '1 == 1.0 || "a" in request.headers',
        'request.query_params["role"].contains("admin")',
        'request.query_params["role"] == ""',
        'request.query_params["role"] != "user"',
        '!(request.query_params["role"] == "user")',
        'request.query_params["role"] == "a" || "role" in derived.repeated_params',
        'request.query_params["a"] == request.query_params["b"]',
        'request.arguments.exists(a, a.name == "role" && a.value == "admin")',
        'request.cookies["f"] == "x" || "f" in derived.repeated_cookies',
        'fields["status"] == "401" && request.route_params["id"] == "7"',
    ],
)
def test_good_expressions_have_no_warnings(text: str) -> None:
    """Ordinary expressions are left alone."""
    assert check(text, SCHEMA).warnings == ()


@pytest.mark.parametrize(
    ("parts", "codes"),
    [
        (["derived.client_network"], [[]]),
        (["request.client_ip"], [["single-address-key"]]),
        (["string(ip(request.client_ip))"], [["single-address-key"]]),
        (['request.client_ip + "|" + request.user_agent'], [["single-address-key"]]),
        (["string(ip(request.client_ip).masked(24, 56))"], [[]]),
        (['request.client_ip == "192.0.2.1" ? "me" : derived.client_network'], [[]]),
        (["string(observed_at)"], [["timestamp-key"]]),
        (['request.headers["X-Request-ID"]'], [["per-request-key"]]),
        (["request.method"], [["broad-key"]]),
        (["request.path"], [["broad-key"]]),
        (["request.raw_path"], [["broad-key"]]),
        (["request.raw_path", "derived.client_network"], [[], []]),
        (["derived.client_network", "request.referer"], [[], ["often-blank-key"]]),
        (['request.headers["origin"]'], [["often-blank-key"]]),
        (["fields.request_id"], [["per-request-key"]]),
        (['request.query_params["Request-ID"]'], [["per-request-key"]]),
        (['request.cookies["session"]', "fields.account_id"], [[], []]),
        (["derived.is_bot"], [["broad-key"]]),
        (["request.method", "derived.client_network"], [[], []]),
    ],
)
def test_key_warnings(parts: list[str], codes: list[list[str]]) -> None:
    """Keys that are new with each event, or shared by most, are named."""
    checked = [check(part, SCHEMA) for part in parts]
    found = key_warnings([(each.root, each.type) for each in checked])
    assert [[warning.code for warning in part] for part in found] == codes
