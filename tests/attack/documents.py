"""The definitions of the tenants."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml

LIVE = "/live"
"""The path that every set that is made for an attack blocks."""


def marked(document: dict[str, Any]) -> dict[str, Any]:
    """A document that also blocks one path, by which it shows that it decides."""
    clause = {"expression": f'request.path == "{LIVE}"', "mitigation": "live"}
    return {
        **document,
        "mitigations": [{"name": "Live", "mode": "Block", "ttl_seconds": 0}],
        "policies": [
            *document["policies"],
            {"name": "Live", "priority": 0, "clauses": [{**clause, "final": True}]},
        ],
    }


def rules(count: int, mark: int = 0) -> dict[str, Any]:
    """A document of policies, each with an expression of its own; all differ by the mark."""
    policies = [
        {
            "name": f"Rule {number}",
            "description": f"of set {mark}",
            "clauses": [
                {
                    "expression": f'request.path.startsWith("/area/{number}/{mark}") && '
                    f'(request.query_params["q"].lower().contains("word-{number}") || '
                    f'request.headers["x-part"] in ["a{number}", "b{number}", "c{mark}"]) && '
                    f'request.user_agent.matches("agent-{number % 97}[0-9]+/{mark}")'
                }
            ],
        }
        for number in range(count)
    ]
    return {"apiVersion": "tidegate/v1", "policies": policies}


def samples() -> dict[str, Any]:
    """The definitions of the example shop, without its tenant."""
    text = resources.files("tidegate.samples").joinpath("definitions.yaml").read_text()
    document: dict[str, Any] = yaml.safe_load(text)
    del document["tenant"]
    return document
