"""``python -m benchmarks.traffic.policies OUT.json``: the policies of the traffic data.

Each becomes a policy with one clause; clauses with equal entity parts share an entity. The
data says a window with an empty or missing part counts nothing, which is ``skip``.

One thing differs from the published form: slugs have hyphens instead of underscores.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.traffic.workload import TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Sequence

MODES = {"block": "Block", "challenge": "Challenge", "monitor": "Monitor"}
FILE = "policies.json.gz"


def read_policies(path: Path = TRAFFIC / FILE) -> list[dict[str, Any]]:
    """The published policies, as they are.

    Raises:
        FileNotFoundError: the traffic data is not there.
    """
    with gzip.open(path) as stream:
        policies: list[dict[str, Any]] = json.load(stream)
    return policies


def to_definitions(policies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A definitions document with one policy for each."""
    keys = list(dict.fromkeys(tuple(policy["entity"]) for policy in policies))
    mitigations = list(dict.fromkeys(_mitigation(policy) for policy in policies))
    return {
        "apiVersion": "tidegate/v1",
        "tenant": {"name": "Traffic workload"},
        "entities": [
            {
                "name": " and ".join(key),
                "slug": f"entity-{number}",
                "key_fields": [_field(part) for part in key],
                "on_missing_key": "skip",
            }
            for number, key in enumerate(keys)
        ],
        "mitigations": [
            {"name": f"{mode} for {ttl} s", "slug": f"{mode.lower()}-{ttl}", "mode": mode}
            | {"ttl_seconds": ttl}
            for mode, ttl in mitigations
        ],
        "policies": [
            _policy(policy, f"entity-{keys.index(tuple(policy['entity']))}") for policy in policies
        ],
    }


def _policy(policy: dict[str, Any], entity: str) -> dict[str, Any]:
    mode, ttl = _mitigation(policy)
    clause = {
        "name": "window",
        "expression": policy["expression"],
        "entity": entity,
        "mitigation": f"{mode.lower()}-{ttl}",
        "window": _window(policy["window"]),
    }
    return {"name": policy["policy_id"], "slug": to_slug(policy), "clauses": [clause]}


def to_slug(policy: dict[str, Any]) -> str:
    """The slug of a policy: its id, but slugs have no underscores."""
    slug: str = policy["policy_id"].replace("_", "-")
    return slug


def _window(window: dict[str, Any]) -> dict[str, Any]:
    found = {"duration_seconds": window["seconds"], "threshold": window["threshold"]}
    if window["distinct"] is not None:
        found |= {"measure": "distinct", "field": _field(window["distinct"])}
    return found


def _mitigation(policy: dict[str, Any]) -> tuple[str, int]:
    return MODES[policy["mitigation"]["mode"]], policy["mitigation"]["ttl_s"]


def _field(name: str) -> str:
    """A field of the model as an expression: ``fields.NAME`` is a key of a map."""
    section, _, key = name.partition(".")
    return f'fields["{key}"]' if section == "fields" else name


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
def main(out: Path) -> None:
    """Write the definitions document to OUT."""
    if not (TRAFFIC / FILE).is_file():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    out.write_text(json.dumps(to_definitions(read_policies()), indent=2) + "\n")


if __name__ == "__main__":
    main()
