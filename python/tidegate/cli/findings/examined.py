"""Documents that were examined, and how commands report on several of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any

import attrs
import click

from tidegate.cli.findings.codes import codes
from tidegate.cli.findings.report import (
    FindingsError,
    Reported,
    github_of,
    json_of,
    print_text,
    sarif_of,
)
from tidegate.cli.output import console, counted, errors, print_json

warnings_as_errors_option = click.option(
    "--warnings-as-errors", is_flag=True, help="Report warnings as errors, and exit with 1."
)


@attrs.frozen
class Examined:
    """A text that was examined.

    Attributes:
        name: as given to the command.
        facts: what is in it; None if it was rejected.
        reported: the findings about it.
    """

    name: str
    facts: dict[str, Any] | None
    reported: tuple[Reported, ...]

    @property
    def is_good(self) -> bool:
        """Whether the document was read and has no errors."""
        is_wrong = any(each.finding.severity == "error" for each in self.reported)
        return self.facts is not None and not is_wrong

    def strict(self) -> Examined:
        """The same with errors in place of warnings."""
        reported = tuple(
            attrs.evolve(each, finding=attrs.evolve(each.finding, severity="error"))
            for each in self.reported
        )
        return attrs.evolve(self, reported=reported)


def examine(
    names: Iterable[str],
    read: Callable[[str], tuple[dict[str, Any], Sequence[Reported]]],
    *,
    warnings_as_errors: bool,
) -> list[Examined]:
    """Examine texts one after another; a rejected one doesn't end it.

    Args:
        names: what to examine.
        read: returns the facts and findings of one; raises FindingsError if it is rejected.
        warnings_as_errors: whether warnings count as errors.
    """
    found = []
    for name in names:
        try:
            facts, reported = read(name)
            made = Examined(name, facts, tuple(reported))
        except FindingsError as error:
            made = Examined(name, None, error.reported)
        found.append(made.strict() if warnings_as_errors else made)
    return found


def report(form: str, examined: Sequence[Examined], *, is_one: bool) -> None:
    """Print the findings and facts of texts, and exit with 1 if one has an error.

    Args:
        form: a format of ``format_option``.
        examined: the texts.
        is_one: whether the command was given a single text, which JSON shows by itself.
    """
    reported = [each for one in examined for each in one.reported]
    match form:
        case "json":
            shown = [_to_json(each) for each in examined]
            good = all(each.is_good for each in examined)
            files = [{"file": of.name, **each} for of, each in zip(examined, shown, strict=True)]
            print_json(shown[0] if is_one else {"ok": good, "files": files})
        case "github":
            for each in reported:
                click.echo(github_of(each))
        case "sarif":
            meanings = {code: known.meaning for code, known in codes().items()}
            click.echo(sarif_of(reported, version("tidegate"), meanings))
        case _:
            print_text(errors, reported)
            for one in examined:
                if one.is_good:
                    console.print(_verdict(one, is_one=is_one), markup=False)
    if not all(each.is_good for each in examined):
        sys.exit(1)


def _to_json(examined: Examined) -> dict[str, Any]:
    shown = [json_of(each) for each in examined.reported]
    if examined.is_good:
        return {"ok": True, **(examined.facts or {}), "warnings": shown}
    return {"ok": False, "errors": shown}


def _verdict(examined: Examined, *, is_one: bool) -> str:
    facts = examined.facts or {}
    warnings = sum(each.finding.severity == "warning" for each in examined.reported)
    ok = f"ok, {counted(warnings, 'warning')}" if warnings else "ok"
    if "type" in facts:
        verdict = f"{ok}: {facts['type']}, at most {facts['cost_estimate']} units"
    else:
        verdict = f"{ok}: " + ", ".join(f"{number} {kind}" for kind, number in facts.items())
    return verdict if is_one else f"{examined.name}: {verdict}"
