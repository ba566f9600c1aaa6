"""``tidegate explain-code``: the meaning of a code, and how to fix its cause."""

from __future__ import annotations

import click

from tidegate.cli.findings.codes import added, codes
from tidegate.cli.output import console, json_option, print_json
from tidegate.language.tree.diagnostics import nearest


@click.command("explain-code")
@click.argument("code", required=False)
@json_option
def explain_code(code: str | None, as_json: bool) -> None:
    """Say what CODE means and how it is mended; without one, list all codes."""
    known = added() | codes()
    if code is None:
        _list(known.keys(), as_json)
        return
    found = known.get(code)
    if found is None:
        near = nearest(code, known)
        hint = f"; did you mean `{near}`?" if near else "; `tidegate explain-code` lists all"
        raise click.UsageError(f"there is no code `{code}`{hint}")
    if as_json:
        print_json(
            {"code": code, "meaning": found.meaning, "wrong": found.wrong, "right": found.right}
        )
        return
    console.print(f"{code}: {found.meaning}", markup=False)
    for title, example in (("wrong", found.wrong), ("right", found.right)):
        if example is not None:
            console.print(f"  {title}: {example}", markup=False)


def _list(known: object, as_json: bool) -> None:
    assert hasattr(known, "__iter__")
    names = sorted(known)
    if as_json:
        print_json(names)
    else:
        console.print("\n".join(names), markup=False)
