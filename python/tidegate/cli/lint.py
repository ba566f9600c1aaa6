"""``tidegate lint``: definitions that are valid but don't do what they say."""

from __future__ import annotations

from typing import Any

import attrs
import click

from tidegate.cli.documents import facts_of, read_bytes
from tidegate.cli.findings.examined import examine, report, warnings_as_errors_option
from tidegate.cli.findings.report import (
    Reported,
    file_name,
    format_option,
    of_document,
    refused_document,
)
from tidegate.cli.inputs.documents import STANDARD_INPUT, documents_argument
from tidegate.cli.inputs.events import Source, events_option, strictness_option
from tidegate.cli.output import errors, json_option
from tidegate.cli.remote import Remote
from tidegate.cli.run import max_refusals_option, see_all
from tidegate.engine import Engine
from tidegate.errors import DefinitionsError
from tidegate.evaluation.envelope import Strictness
from tidegate.policy.definitions.compile import Compilation
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.document import parse_document
from tidegate.policy.traffic.doctor import KeyDoctor
from tidegate.policy.traffic.trial import Trial


@click.command()
@documents_argument
@events_option
@click.option("--server", metavar="URL", help="Lint a tenant's definitions by its records there.")
@click.option(
    "--tenant",
    envvar="TIDEGATE_TENANT",
    default="",
    help="Slug or id of the tenant; not needed for the only one.",
)
@click.option(
    "--token",
    envvar="TIDEGATE_TOKEN",
    default="",
    help="An operator's token; better in the environment than on the command line.",
)
@warnings_as_errors_option
@max_refusals_option
@strictness_option
@format_option
@json_option
def lint(
    files: tuple[str, ...],
    events: Source | None,
    server: str | None,
    tenant: str,
    token: str,
    warnings_as_errors: bool,
    max_refusals: int,
    strictness: Strictness,
    report_form: str,
    as_json: bool,
) -> None:
    """Find what definitions documents say but can't do, and, with events, what traffic shows.

    FILES are documents, folders with documents, and patterns; - is standard input. With --server,
    the definitions and the events are those of a tenant.
    """
    form = "json" if as_json else report_form
    if server is not None:
        if files or events is not None:
            raise click.UsageError("a tenant has its own definitions and events: give no files")
        access = _Access(server, token, tenant)
        found = examine(
            (server,), lambda _: _of_tenant(access), warnings_as_errors=warnings_as_errors
        )
        report(form, found, is_one=True)
        return
    if not files:
        raise click.UsageError("give definitions files, folders or patterns")
    if events is not None and events.is_standard_input and (len(files) > 1 or "-" in files):
        raise click.UsageError("standard input can be read once: give the events as a file")

    def read(name: str) -> tuple[dict[str, Any], list[Reported]]:
        return _examined(name, events, max_refusals, strictness)

    examined = examine(files, read, warnings_as_errors=warnings_as_errors)
    is_one = len(files) == 1 and (files[0] == STANDARD_INPUT or len(examined) == 1)
    report(form, examined, is_one=is_one)


@attrs.frozen
class _Access:
    """See :class:`tidegate.cli.remote.Access`."""

    url: str
    token: str = attrs.field(repr=False)
    tenant: str


def _of_tenant(access: _Access) -> tuple[dict[str, Any], list[Reported]]:
    service = Remote(access)
    found = service.call("GET", f"tenants/{service.tenant_id()}/lint")
    reported = [
        Reported(f"{each['kind']} {each['name']}", 0, 0, _warning(warning))
        for each in found["definitions"]
        for warning in each["warnings"]
    ]
    reported += [Reported(access.url, 0, 0, _warning(each)) for each in found["general"]]
    if not found["complete"]:
        errors.print(
            f"warning: there are more events than the {found['looked_at']:,} that were looked at",
            style="yellow",
            markup=False,
        )
    return {"events": found["looked_at"]}, reported


def _warning(found: dict[str, Any]) -> Finding:
    return Finding(
        found["code"],
        found["detail"],
        found["pointer"],
        severity="warning",
        hint=found.get("hint"),
    )


def _examined(
    name: str, events: Source | None, max_refusals: int, strictness: Strictness
) -> tuple[dict[str, Any], list[Reported]]:
    try:
        document = parse_document(read_bytes(name))
        compilation = document.read(lint="")
    except DefinitionsError as error:
        raise refused_document(file_name(name), error) from None
    found = list(compilation.findings)
    facts: dict[str, Any] = facts_of(compilation)
    if events is not None:
        traffic, seen, refused = _in_traffic(compilation, events, max_refusals, strictness)
        found += document.locate(traffic)
        facts |= {"events": seen, "refused": refused}
        if refused:
            errors.print(f"warning: {refused:,} events were refused", style="yellow", markup=False)
    return facts, of_document(file_name(name), found)


def _in_traffic(
    compilation: Compilation, events: Source, max_refusals: int, strictness: Strictness
) -> tuple[list[Finding], int, int]:
    trial = Trial(compilation)
    doctor = KeyDoctor(compilation.compiled)
    engine = Engine(trial.definitions, events=strictness)

    def see(event: bytes, time: int) -> None:
        trial.add(event, engine.decide(event, time))
        doctor.see(event, time)

    run, seen, refused = see_all(see, events, max_refusals)
    if run.is_interrupted or run.is_stopped:
        run.exit(1)
    return list(trial.findings(doctor.reports())), seen, refused
