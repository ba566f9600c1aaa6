"""Checks across the members of a document: names, references, sensible combinations."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from tidegate.functions.addresses import is_range
from tidegate.language.tree.diagnostics import nearest, quote
from tidegate.policy.definitions.findings import Finding, SecondPlace, pointer_to
from tidegate.policy.document.forms import header_problem, is_pointer
from tidegate.policy.document.override_checks import check_overrides

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from tidegate.policy.definitions.model import (
        Block,
        Clause,
        Definitions,
        ListSource,
        Mitigation,
        NamedList,
        Window,
    )

SECTIONS = ("lists", "actions", "entities", "mitigations", "policies")
MAX_SUGGESTED = 1_000
"""With more slugs than this, no finding suggests the nearest one: the search takes too long."""
MAX_ENTRY_FINDINGS = 20
"""Most bad entries of one list that are shown; the first few explain the rest."""

MAX_COUNTED = 1_001
"""Most further bad entries of a list that are counted, plus one."""


def check_objects(definitions: Definitions) -> Iterator[Finding]:
    """Every finding about single objects and their names; expressions are not read.

    Args:
        definitions: the document.
    """
    for section in (*SECTIONS, "overrides"):
        yield from _unique(section, getattr(definitions, section))
    for at, each in enumerate(definitions.lists):
        yield from _entries(each, f"/lists/{at}/entries")
        if each.source is not None:
            yield from _source(each, each.source, f"/lists/{at}/source")
    for at, mitigation in enumerate(definitions.mitigations):
        yield from _mode(mitigation, f"/mitigations/{at}")
    yield from check_overrides(definitions)


def check_references(definitions: Definitions, kept: Container[int] = ()) -> Iterator[Finding]:
    """Every finding about policies' clauses and the objects they name.

    Args:
        definitions: the document.
        kept: identities of policies that were checked together with everything they name.
    """
    known = {section: {each.slug for each in getattr(definitions, section)} for section in SECTIONS}
    for at, policy in enumerate(definitions.policies):
        if id(policy) in kept:
            continue
        yield from _clause_names(policy.clauses, f"/policies/{at}/clauses")
        for number, clause in enumerate(policy.clauses):
            pointer = f"/policies/{at}/clauses/{number}"
            yield from _references(clause, known, pointer)
            if clause.window is not None:
                yield from _window(clause, clause.window, f"{pointer}/window")


def _unique(section: str, objects: tuple[Any, ...]) -> Iterator[Finding]:
    if not objects:
        return
    identifier = next(name for name in objects[0].__slots__ if name.endswith("_id"))
    codes = {"name": "duplicate-name", "slug": "duplicate-slug", identifier: "duplicate-id"}
    reported: set[int] = set()
    for member, code in codes.items():
        seen: dict[str, int] = {}
        for at, each in enumerate(objects):
            value = getattr(each, member)
            if not value or seen.setdefault(value, at) == at or at in reported:
                continue
            # A repeated name produces a repeated slug and id: report it once.
            reported.add(at)
            message = f"{quote(value)} is already the {_noun(member)} of `/{section}/{seen[value]}`"
            first = _first(f"/{section}/{seen[value]}/{member}")
            yield Finding(code, message, f"/{section}/{at}/{member}", second=first)


def _first(pointer: str) -> tuple[SecondPlace, ...]:
    """The earlier of two duplicates."""
    return (SecondPlace("first defined here", pointer),)


def _noun(member: str) -> str:
    return "id" if member.endswith("_id") else member


def _entries(named: NamedList, pointer: str) -> Iterator[Finding]:
    if named.kind == "ip":
        entries = enumerate(named.entries)
        bad = (at for at, entry in entries if entry and not is_range(entry))
        for at in islice(bad, MAX_ENTRY_FINDINGS):
            message = f"{quote(named.entries[at])} is no address and no network"
            yield Finding("invalid-address", message, pointer_to(pointer, at))
        more = sum(1 for _ in islice(bad, MAX_COUNTED))
        if more:
            number = f"more than {more - 1:,}" if more == MAX_COUNTED else f"{more:,}"
            message = f"{number} more entries are no address and no network"
            yield Finding("invalid-address", message, pointer)
    repeated = [entry for entry, times in Counter(named.entries).items() if times > 1]
    if repeated:
        message = f"{len(repeated)} entries are repeated, the first is {quote(repeated[0])}"
        yield Finding("duplicate-entries", message, pointer, severity="warning")


def _source(named: NamedList, source: ListSource, pointer: str) -> Iterator[Finding]:
    if source.format == "prefixes" and named.kind != "ip":
        message = f"the format `prefixes` has no meaning for a list of kind `{named.kind}`"
        hint = "set `kind: ip`, or use the format `lines` or `json-pointer`"
        yield Finding("misplaced-member", message, f"{pointer}/format", hint=hint)
    if source.format == "keys" and named.kind != "string":
        message = f"the format `keys` has no meaning for a list of kind `{named.kind}`"
        hint = "set `kind: string`, or use the format `prefixes`"
        yield Finding("misplaced-member", message, f"{pointer}/format", hint=hint)
    if source.format != "json-pointer":
        if source.pointer is not None:
            message = f"`pointer` has no meaning for the format `{source.format}`"
            hint = "set `format: json-pointer` or leave `pointer` out"
            yield Finding("misplaced-member", message, f"{pointer}/pointer", hint=hint)
    elif source.pointer is None:
        message = "`pointer` is missing for the format `json-pointer`"
        hint = "`pointer` leads to the array in the published JSON, such as `/addresses`"
        yield Finding("missing-member", message, pointer, hint=hint)
    elif not is_pointer(source.pointer):
        message = f"{quote(source.pointer)} isn't a JSON Pointer (RFC 6901)"
        hint = "begin it with `/`, and write `~` as `~0` and `/` as `~1` within a name"
        yield Finding("invalid-pointer", message, f"{pointer}/pointer", hint=hint)


def _mode(mitigation: Mitigation, pointer: str) -> Iterator[Finding]:
    for member, mode in (("challenge", "Challenge"), ("block", "Block")):
        if getattr(mitigation, member) is not None and mitigation.mode != mode:
            message = f"`{member}` has no meaning for a mitigation of mode `{mitigation.mode}`"
            hint = f"set `mode: {mode}` or leave `{member}` out"
            yield Finding("misplaced-member", message, f"{pointer}/{member}", hint=hint)
    if mitigation.block is not None:
        yield from _computed_headers(mitigation.block, f"{pointer}/block/computed_headers")


def _computed_headers(block: Block, pointer: str) -> Iterator[Finding]:
    names = {name.lower() for name in block.headers}
    for name in block.computed_headers:
        problem = header_problem(name, "")
        if problem is None and name.lower() in names:
            problem = "given twice"
        if problem is not None:
            message = f"header {quote(name)}: {problem}"
            yield Finding("invalid-header", message, pointer_to(pointer, name))
        names.add(name.lower())


def _clause_names(clauses: tuple[Clause, ...], pointer: str) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for at, clause in enumerate(clauses):
        first = seen.setdefault(clause.name, at)
        if first != at and clause.name:
            message = f"another clause of the policy is already named {quote(clause.name)}"
            place = f"{pointer}/{at}/name"
            yield Finding(
                "duplicate-name", message, place, second=_first(f"{pointer}/{first}/name")
            )


def _references(clause: Clause, known: dict[str, set[str]], pointer: str) -> Iterator[Finding]:
    for at, action in enumerate(clause.actions):
        yield from _reference(action, "actions", known, f"{pointer}/actions/{at}")
    for section, member in (("entities", "entity"), ("mitigations", "mitigation")):
        yield from _reference(getattr(clause, member), section, known, f"{pointer}/{member}")


def _reference(
    slug: str | None, section: str, known: dict[str, set[str]], pointer: str
) -> Iterator[Finding]:
    # An object without a readable slug may be the intended one.
    if slug and slug not in known[section] and "" not in known[section]:
        meant = nearest(slug, known[section]) if len(known[section]) <= MAX_SUGGESTED else None
        hint = f"did you mean `{meant}`?" if meant else None
        message = f"no such object in `{section}`: {quote(slug)}"
        yield Finding("missing-reference", message, pointer, hint=hint)


def _window(clause: Clause, window: Window, pointer: str) -> Iterator[Finding]:
    if clause.entity is None:
        hint = "add `entity`: a window counts the events of one actor"
        yield Finding("window-without-entity", "a window needs an entity", pointer, hint=hint)
    if window.measure == "distinct" and window.field is None:
        hint = "`field` is the expression whose values are counted"
        message = "`field` is missing for measure `distinct`"
        yield Finding("missing-member", message, pointer, hint=hint)
    if window.measure == "count" and window.field is not None:
        hint = "set `measure: distinct` or leave `field` out"
        message = "`field` has no meaning for measure `count`"
        yield Finding("misplaced-member", message, f"{pointer}/field", hint=hint)
