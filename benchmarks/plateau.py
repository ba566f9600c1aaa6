"""``python -m benchmarks.plateau``: what repeated operations of the control plane leave in memory.

Each operation is repeated on a tenant with many rules; the resident memory of the service and all
its workers is read after every round.  It may grow to a plateau and no further: past half of the
rounds, the highest is at most so much higher than before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import click
import httpx2

from benchmarks.served import Served, serving

MEBIBYTE = 2**20
GROWTH_MIB = 64
"""More than an allocator's whims, and less than one explanation of 10,000 rules left once."""
PAGE = os.sysconf("SC_PAGE_SIZE")


def definitions(rules: int) -> dict[str, Any]:
    """A document with so many policies, no two alike."""
    return {
        "apiVersion": "tidegate/v1",
        "policies": [
            {
                "name": f"Rule {number}",
                "clauses": [
                    {
                        "name": "one",
                        "expression": (
                            f'request.path == "/{number}" && (fields["a"] == "{number}"'
                            ' || request.method == "POST")'
                        ),
                    }
                ],
            }
            for number in range(rules)
        ],
    }


def resident_mib(pid: int) -> float:
    """Of a process and all that it started, in MiB; what they share counts for each."""
    parents = dict(_parents())
    family = {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(_resident(each) for each in family) / MEBIBYTE


def _parents() -> Iterator[tuple[int, int]]:
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        yield int(place.parent.name), int(fields[1])


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


@attrs.frozen
class Round:
    """What the operations are done to."""

    served: Served
    http: httpx2.Client
    document: Mapping[str, Any]
    policy_id: str
    decision_id: str

    def call(self, method: str, path: str, body: Any = None) -> None:
        """A call that must succeed."""
        where = f"/api/v1/tenants/{self.served.tenant_id}{path}"
        answer = self.http.request(method, where, json=body)
        if answer.status_code == httpx2.codes.NOT_FOUND or not answer.is_success:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")


def _check(at: Round, number: int) -> None:
    expression = " || ".join(f'request.path == "/{number}/{part}"' for part in range(50))
    at.call("POST", "/expressions/check", {"expression": expression, "purpose": "condition"})


def _change(at: Round, number: int) -> None:
    at.call("PATCH", f"/policies/{at.policy_id}", {"description": f"round {number}"})


def _replace(at: Round, number: int) -> None:
    first, *others = at.document["policies"]
    changed = [{**first, "description": f"of round {number}"}, *others]
    at.call("PUT", "/definitions", {**at.document, "policies": changed})


def _simulate(at: Round, number: int) -> None:
    event = {"request": {"method": "POST", "path": f"/{number}"}}
    at.call("POST", f"/policies/{at.policy_id}/simulate", {"event": event})


OPERATIONS: Mapping[str, Callable[[Round, int], None]] = {
    "check": _check,
    "export": lambda at, _: at.call("GET", "/definitions"),
    "list": lambda at, _: at.call("GET", "/policies?limit=200"),
    "explain": lambda at, _: at.call("GET", f"/decisions/{at.decision_id}/explain"),
    "simulate": _simulate,
    "change": _change,
    "replace": _replace,
}


def prepared(served: Served, http: httpx2.Client, document: Mapping[str, Any]) -> Round:
    """A decision to be explained, and a policy to be changed."""
    tenant = f"/tenants/{served.tenant_id}"
    name = served.call("GET", tenant)["name"]
    policy_id = served.call("GET", f"{tenant}/policies?limit=1")[0]["policy_id"]
    answer = http.post(
        "/api/v1/runtime/mitigation",
        json={"request": {"method": "POST", "path": "/1"}},
        headers={"x-service-api-key": served.api_key},
    )
    whole = {**document, "tenant": {"name": name, "tenant_id": served.tenant_id}}
    return Round(served, http, whole, policy_id, answer.json()["decision_id"])


def growth_mib(read: Callable[[], float], once: Callable[[int], None], rounds: int) -> float:
    """How much the highest memory of the later half of rounds is above that of the first.

    Args:
        read: the memory now, in MiB.
        once: does the operation, given the number of the round.
        rounds: how many.
    """
    found = []
    for number in range(rounds):
        once(number)
        found.append(read())
    half = rounds // 2
    return max(found[half:]) - max(found[:half])


@click.command()
@click.option("--rules", default=10_000, show_default=True, help="Policies of the tenant.")
@click.option("--rounds", default=100, show_default=True, help="Of each operation.")
@click.option("--only", multiple=True, type=click.Choice(list(OPERATIONS)), help="Operations.")
@click.option("--most", default=GROWTH_MIB, show_default=True, help="Growth allowed, in MiB.")
def main(rules: int, rounds: int, only: tuple[str, ...], most: int) -> None:
    """Repeat each operation and print what memory does; exit 1 where it goes on growing."""
    document = definitions(rules)
    has_grown = False
    with serving(document, core=None) as served:
        headers = {"authorization": f"Bearer {served.token}"}
        with httpx2.Client(base_url=served.base_url, headers=headers, timeout=600) as http:
            at = prepared(served, http, document)
            for name in only or OPERATIONS:
                before = resident_mib(served.pid)
                once = OPERATIONS[name]
                grown = growth_mib(
                    lambda: resident_mib(served.pid),
                    lambda number, once=once: once(at, number),  # type: ignore[misc]
                    rounds,
                )
                after = resident_mib(served.pid)
                click.echo(f"{name:10} {before:7.0f} MiB, {after:7.0f} after, {grown:+6.0f} late")
                has_grown |= grown > most
    sys.exit(has_grown)


if __name__ == "__main__":
    main()
