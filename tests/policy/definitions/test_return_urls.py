"""Templates of return URLs lead to the origins that the settings list."""

from __future__ import annotations

import pytest

from tidegate.policy.definitions.return_urls import FOREIGN, foreign_templates

ORIGINS = ["https://shop.example", "http://[2001:db8::1]:8080"]


@pytest.mark.parametrize(
    "template",
    [
        None,
        "https://shop.example/back",
        "HTTPS://Shop.Example:443/back",
        "http://[2001:db8::1]:8080/",
    ],
)
def test_a_listed_origin_is_one_however_it_is_written(template: str | None) -> None:
    """Letters and the usual port make no difference."""
    assert list(foreign_templates(ORIGINS, [("/x", template)])) == []


@pytest.mark.parametrize(
    "template",
    [
        "http://shop.example/",
        "https://shop.example:8443/",
        "https://shop.example.evil.test/",
        "https://evil.test/https://shop.example",
    ],
)
def test_another_origin_is_foreign(template: str) -> None:
    """Scheme, host and port all count; an empty list allows everything."""
    [found] = foreign_templates(ORIGINS, [("/x", template)])
    assert (found.code, found.pointer, found.severity) == (FOREIGN, "/x", "error")
    assert list(foreign_templates([], [("/x", template)])) == []
