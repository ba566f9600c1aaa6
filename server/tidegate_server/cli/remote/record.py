"""``tidegate record``: a test of policies from a recorded decision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click

from tidegate.cli.documents import read_definitions
from tidegate.cli.output import errors, write_file
from tidegate.cli.remote import Remote
from tidegate.definitions import parse_definitions
from tidegate.errors import TidegateError
from tidegate.functions.time import parse_moment, timestamp_text
from tidegate.limits import CLOCK_TOLERANCE
from tidegate.policy.document import compile_definitions
from tidegate.policy.document.yaml_text import write_yaml
from tidegate.policy.explain.shown import escaped
from tidegate.testing.policies.reading import read_tests
from tidegate.testing.policies.recording import (
    Recorded,
    readers,
    redacted_members,
    text_of_test,
)
from tidegate.testing.policies.running import Runner
from tidegate.testing.policies.text import failure_text
from tidegate.values import NANOSECONDS, Timestamp
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.settings.outbound import RemoteSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import Definitions

MAX_EVENTS = 1_000
"""Most events before the decision: each is a call, and a test with more can hardly be read."""
_MILLISECOND = 1_000_000


class NotRecordedError(TidegateError):
    """A decision cannot be made a test that means the same."""

    code = "not-recorded"


@click.command()
@click.option("--decision", "decision_id", type=click.UUID, required=True, help="Its id.")
@click.option(
    "--definitions",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("definitions.yaml"),
    show_default=True,
    help="The file of the definitions under test; written from the tenant's if it doesn't exist.",
)
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file to write; standard output when left out.",
)
@remote_options
def record(remote: RemoteSettings, decision_id: UUID, definitions: Path, to: Path | None) -> None:
    """Write a test from a recorded decision, with the events that its windows needed.

    The test is run before it is written, and must come to the same decision.
    """
    if to is not None and to.exists():
        raise click.UsageError(f"`{to}` exists")
    service = Remote(remote)
    tenant = f"tenants/{service.tenant_id()}"
    decision = service.call("GET", f"{tenant}/decisions/{decision_id}")
    proof = decision["proof"]
    if proof is not None and proof["status"] in ("valid", "revoked"):
        raise NotRecordedError(
            f"the event shows a proof of a challenge, which was {proof['status']}, and a test has"
            " no keys to read it"
        )
    exported = None
    if definitions.exists():
        source = read_definitions(str(definitions))
    else:
        exported = write_yaml(service.call("GET", f"{tenant}/definitions"))
        source = parse_definitions(exported)
    compiled = compile_definitions(source)
    events = [*_before(service, tenant, decision, compiled), _recorded(decision)]
    folder = Path() if to is None else to.parent
    text = text_of_test(
        _name(decision),
        Path(os.path.relpath(definitions, folder)).as_posix(),
        events,
        _expected(decision),
        [f"Recorded from decision {decision_id}.", *_redacted(compiled, events)],
    )
    _try(text, to or Path("recorded.yaml"), source, decision)
    if exported is not None:
        write_file(definitions, exported.encode())
        errors.print(f"wrote {definitions} from the tenant's definitions", markup=False)
    if to is None:
        click.echo(text, nl=False)
    else:
        write_file(to, text.encode())


def _before(
    service: Remote, tenant: str, decision: dict[str, Any], compiled: CompiledDefinitions
) -> Iterator[Recorded]:
    """The events before a decision that its windows and mitigations may depend on, in order."""
    found: dict[str, Any] = {}
    for entity in _entities(decision):
        found |= {
            each["decision_id"]: each
            for each in _of_entity(service, tenant, decision, entity, _horizon(decision, compiled))
        }
        if len(found) > MAX_EVENTS:
            raise NotRecordedError(
                f"its entities have more than {MAX_EVENTS:,} events within the widest window"
            )
    for each in sorted(found.values(), key=lambda each: (each["received_at"], each["decision_id"])):
        yield _recorded(service.call("GET", f"{tenant}/decisions/{each['decision_id']}"))


def _entities(decision: dict[str, Any]) -> list[str]:
    """The entities of the clauses that fired; if none did, all entities of the event."""
    fired = [each["entity_id"] for each in decision["fired_clauses"] if each["entity_id"]]
    if decision["fired_clauses"]:
        return list(dict.fromkeys(fired))
    return [each["entity_id"] for each in decision["entities"]]


def _horizon(decision: dict[str, Any], compiled: CompiledDefinitions) -> int:
    """How far back events matter, in nanoseconds: the widest window, and an earlier mitigation."""
    clauses = [each for policy in compiled.policies for each in policy.clauses]
    windows = [each.window.duration for each in clauses if each.window is not None]
    ttls = [each.ttl_seconds * NANOSECONDS for each in compiled.mitigations]
    is_active = any(each["active"] for each in decision["fired_clauses"])
    return max(windows, default=0) + (max(ttls, default=0) if is_active else 0)


def _of_entity(
    service: Remote, tenant: str, decision: dict[str, Any], entity: str, horizon: int
) -> list[dict[str, Any]]:
    """An entity's decisions before one, as a search shows them."""
    since = _time(decision["observed_at"]) - horizon - CLOCK_TOLERANCE
    query = {
        "entity_id": entity,
        "time": "received",
        "since": timestamp_text(Timestamp(max(since, 0))),
        "until": timestamp_text(Timestamp(_time(decision["received_at"]) + _MILLISECOND)),
        "limit": 500,
    }
    found = service.pages(f"{tenant}/decisions?{urlencode(query)}", most=MAX_EVENTS + 1)
    ids = [each["decision_id"] for each in found]
    at = ids.index(decision["decision_id"]) if decision["decision_id"] in ids else -1
    return found[at + 1 :]


def _recorded(decision: dict[str, Any]) -> Recorded:
    received_at, counted_at = _time(decision["received_at"]), _time(decision["observed_at"])
    return Recorded(decision["event"], received_at, counted_at)


def _time(text: str) -> int:
    return parse_moment(text).nanoseconds


def _name(decision: dict[str, Any]) -> str:
    by = f" by {decision['policy']} / {decision['clause']}" if decision["policy"] else ""
    return f"decision {decision['decision_id']}: {decision['action']['type']}{by}"


def _expected(decision: dict[str, Any]) -> dict[str, Any]:
    """The answer; of a decision that only monitors, the clauses that fired."""
    members = {"action": decision["action"]["type"], "reason": decision["reason"]}
    if decision["policy"] is not None:
        return members | {"policy": decision["policy"], "clause": decision["clause"]}
    fired = [
        {"policy": each["policy"], "clause": each["clause"]} for each in decision["fired_clauses"]
    ]
    return members | {"fired": fired}


def _redacted(compiled: CompiledDefinitions, events: Sequence[Recorded]) -> Iterator[str]:
    """Comments about redacted members.

    Raises:
        NotRecordedError: a decision may depend on the value of one.
    """
    paths = dict.fromkeys(path for each in events for path in redacted_members(each.event))
    for path in paths:
        found = readers(compiled, path)
        if found:
            name = escaped(".".join(path))
            raise NotRecordedError(
                f"`{name}` is redacted in the records, and `{found[0]}` reads it: the test could"
                " not mean the same"
            )
    if paths:
        yield (
            "Redacted in the records, so hashes stand for the values; no decision depends on more"
            " than their equality:"
        )
        yield from (f"  {'.'.join(path)}" for path in paths)


def _try(text: str, path: Path, definitions: Definitions, decision: dict[str, Any]) -> None:
    """Run a test.

    Raises:
        NotRecordedError: it fails.
    """
    (case,) = read_tests(text, path).cases
    result = Runner(definitions).run(case)
    if result.failure is None:
        return
    revision = decision["revision"]
    is_changed = revision != definitions.revision
    why = f"; it was made by revision {revision} of the definitions" if is_changed else ""
    raise NotRecordedError(
        f"the test would not come to the same decision{why}\n"
        + failure_text(result, result.failure)
    )
