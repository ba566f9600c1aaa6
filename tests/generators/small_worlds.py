"""Generated definitions over a few values of each field, and all events of those values."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

METHODS = ("GET", "POST", "HEAD")
PATHS = ("/", "/a", "/a/b", "/ab", "/b")
ADDRESSES = ("10.0.0.1", "10.0.1.1", "192.0.2.7", "2001:db8::1", "")
FIELDS = (None, "", "x", "y", "12")

_Pick = Callable[[Sequence[Any]], Any]
_COMPARED = ("<", "<=", ">", ">=", "==", "!=")
_NETWORKS = ("10.0.0.0/8", "10.0.0.0/24", "10.0.1.0/24", "192.0.2.7", "2001:db8::/32", "0.0.0.0/0")
_TESTS: tuple[Callable[[_Pick], str], ...] = (
    lambda pick: f'request.method == "{pick(METHODS)}"',
    lambda pick: f'request.method in ["{pick(METHODS)}", "{pick(METHODS)}"]',
    lambda pick: f'request.method != "{pick(METHODS)}"',
    lambda pick: f'request.path == "{pick(PATHS)}"',
    lambda pick: f'"{pick(PATHS)}" == request.path',
    lambda pick: f'request.path.startsWith("{pick(PATHS)}")',
    lambda pick: f'request.path.endsWith("{pick(("b", "/b", "a"))}")',
    lambda pick: f'request.path.contains("{pick(("a", "/b", "b"))}")',
    lambda pick: f'request.path.startsWithAny(["{pick(PATHS)}", "{pick(PATHS)}"])',
    lambda pick: f'request.path.matches("{pick(("^/a", "b$", "^/.b?$"))}")',
    lambda pick: f"size(request.path) {pick(_COMPARED)} {pick((1, 2, 3, 4))}",
    lambda pick: f'request.path.upperAscii() == "{pick(("/A", "/B", "/a"))}"',
    lambda pick: f'inIpRange(request.client_ip, ["{pick(_NETWORKS)}"])',
    lambda pick: f'inIpRange(request.client_ip, ["{pick(_NETWORKS)}", "{pick(_NETWORKS)}"])',
    lambda pick: f'cidr("{pick(_NETWORKS[:3])}").containsIP(request.client_ip)',
    lambda pick: 'request.client_ip.inList("office")',
    lambda pick: f"derived.ip_version {pick(_COMPARED)} {pick((0, 4, 6))}",
    lambda pick: f'fields["f"] == "{pick(("", "x", "y"))}"',
    lambda pick: f'fields.f in ["{pick(("", "x", "y"))}", "12"]',
    lambda pick: f"int(fields.f) {pick(_COMPARED)} {pick((11, 12, 13))}",
    lambda pick: f"double(fields.f) {pick(_COMPARED)} {pick((11.5, 12.0, 12.5))}",
    lambda pick: '"f" in fields',
    lambda pick: f"actions.{pick(('one', 'two'))}",
    lambda pick: "true",
)
_WINDOW_FIELDS = ("request.method", "request.path", "fields.f", 'request.path == "/" ? "p" : "q"',
                  '"f" in fields', "derived.client_network")  # fmt: skip


def events() -> list[dict[str, Any]]:
    """Every event of the world."""
    return [
        {
            "request": {"method": method, "path": path, "client_ip": address},
            "fields": {} if field is None else {"f": field},
        }
        for method, path, address, field in product(METHODS, PATHS, ADDRESSES, FIELDS)
    ]


def document(seed: int) -> dict[str, Any]:
    """A set of definitions that often contradicts and repeats itself."""
    return _Maker(random.Random(seed)).document()


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._told: list[str] = []

    def document(self) -> dict[str, Any]:
        chance = self._chance
        return {
            "apiVersion": "tidegate/v1",
            "lists": [{"name": "office", "kind": "ip", "entries": ["10.0.1.0/24"]}],
            "actions": [
                {
                    "name": name,
                    "expression": self._condition(basic=True),
                    "enabled": chance.random() < 0.9,
                }
                for name in ("one", "two")
            ],
            "entities": [
                {"name": "address", "key_fields": ["derived.client_network"]},
                {
                    "name": "field",
                    "key_fields": ["fields.f"],
                    "on_missing_key": chance.choice(("skip", "blank")),
                    "match_expression": self._condition(),
                },
            ],
            "mitigations": [
                {"name": "refuse", "mode": "Block", "ttl_seconds": chance.choice((0, 30, 90))},
                {"name": "prove", "mode": "Challenge", "ttl_seconds": chance.choice((0, 30, 90))},
                {"name": "watch", "mode": "Monitor"},
            ],
            "policies": [self._policy(number) for number in range(chance.randint(1, 3))],
        }

    def _policy(self, number: int) -> dict[str, Any]:
        chance = self._chance
        made: dict[str, Any] = {
            "name": f"policy {number}",
            "priority": chance.choice((1, 2, 3)),
            "status": chance.choice(("active", "active", "active", "draft")),
            "clauses": [self._clause(each) for each in range(chance.randint(1, 4))],
        }
        if chance.random() < 0.5:
            made["expression"] = self._condition()
        return made

    def _clause(self, number: int) -> dict[str, Any]:
        chance = self._chance
        made: dict[str, Any] = {"name": f"clause {number}", "final": chance.random() < 0.15}
        if chance.random() < 0.8:
            made["expression"] = self._condition()
        if chance.random() < 0.2:
            made["actions"] = [chance.choice(("one", "two"))]
        if chance.random() < 0.6:
            made["mitigation"] = chance.choice(("refuse", "prove", "watch"))
        if chance.random() < 0.5:
            made["entity"] = chance.choice(("address", "field"))
            if chance.random() < 0.7:
                made["window"] = self._window()
        return made

    def _window(self) -> dict[str, Any]:
        chance = self._chance
        made: dict[str, Any] = {
            "duration_seconds": chance.choice((10, 60)),
            "threshold": chance.choice((1, 2, 3)),
        }
        if chance.random() < 0.5:
            made |= {"measure": "distinct", "field": chance.choice(_WINDOW_FIELDS)}
        return made

    def _condition(self, depth: int = 0, *, basic: bool = False) -> str:
        chance = self._chance
        if depth == 0 and self._told and not basic and chance.random() < 0.3:
            return chance.choice(self._told)
        if depth == 2 or chance.random() < 0.4:
            tests = _TESTS[:-2] if basic else _TESTS
            found = chance.choice(tests)(chance.choice)
        else:
            parts = [self._condition(depth + 1, basic=basic) for _ in range(chance.randint(2, 3))]
            found = "(" + chance.choice((" && ", " && ", " || ")).join(parts) + ")"
            if chance.random() < 0.1:
                found = f"({found} ? {self._condition(2, basic=basic)} : {parts[0]})"
        if chance.random() < 0.2:
            found = f"!({found})"
        if depth == 0 and not basic:
            self._told.append(found)
        return found
