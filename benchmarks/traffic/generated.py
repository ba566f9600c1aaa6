"""Rules made from a seed, for machines without the shared traffic data."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20_261_102

# fmt: off
WORDS = (
    "admin", "login", "backup", "config", "setup", "test", "api", "shop", "cart", "order", "user",
    "account", "report", "export", "upload", "image", "static", "print", "bot", "crawler", "spider",
    "scan", "fetch", "curl", "python", "java", "go", "sql", "shell",
)
# fmt: on
EXTENSIONS = (".php", ".sql", ".bak", ".env", ".zip", ".log", ".ini", ".old")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
COUNTRIES = ("NL", "BE", "DE", "FR", "LU", "US", "BR", "CN", "IN")

Condition = tuple[str, list[Any]]


def generate_rules(count: int) -> Iterator[tuple[str, str, list[Any]]]:
    """``count`` rules as id, text and tree: one test alone or with one to three more."""
    source = random.Random(SEED)
    for number in range(count):
        parts = [_specific(source, number)]
        parts += [_shared(source) for _ in range(source.choice((0, 0, 1, 1, 2, 3)))]
        text = " && ".join(text for text, _ in parts)
        tree = parts[0][1] if len(parts) == 1 else ["and", *(tree for _, tree in parts)]
        yield f"g{number:06}", text, tree


def _specific(source: random.Random, number: int) -> Condition:
    """A test that hardly any other rule of the set has."""
    word = f"{source.choice(WORDS)}-{source.choice(WORDS)}-{number}"
    kind = source.randrange(4)
    if kind == 0:
        return f'request.user_agent.contains("{word}")', ["contains", "user_agent", word]
    if kind == 1:
        return f'request.path.startsWith("/{word}")', ["starts", "path", f"/{word}"]
    if kind == 2:
        end = f"/{word}{source.choice(EXTENSIONS)}"
        return f'request.path.endsWith("{end}")', ["ends", "path", end]
    address = f"198.51.{number % 250}.{source.randrange(250)}"
    return f'request.client_ip == "{address}"', ["eq", "client_ip", address]


def _shared(source: random.Random) -> Condition:
    """A test that many rules have in common."""
    kind = source.randrange(4)
    if kind == 0:
        method = source.choice(METHODS)
        return f'request.method == "{method}"', ["eq", "method", method]
    if kind == 1:
        countries = sorted(source.sample(COUNTRIES, 3))
        listed = ", ".join(f'"{country}"' for country in countries)
        return f'fields["country"] in [{listed}]', ["in", "fields.country", countries]
    if kind == 2:
        return '!("accept" in request.headers)', ["not", ["has", "headers", "accept"]]
    return 'request.path.startsWith("/shop/")', ["starts", "path", "/shop/"]
