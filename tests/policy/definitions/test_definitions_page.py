"""docs/definitions.md says what the model says."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import attrs
import pytest

from tidegate.policy import document
from tidegate.policy.definitions import model, shapes
from tidegate.policy.document import read_document

PAGE = (Path(__file__).parents[3] / "docs" / "definitions.md").read_text()
CLASSES = (
    model.Definitions, model.Tenant, model.Settings, model.NamedList, model.ListSource,
    model.Action, model.EntityDefinition, model.Mitigation, model.Challenge, model.Block,
    model.Policy, model.Clause, model.Window, model.Override,
)  # fmt: skip
DERIVED = {"slug"} | {"tenant_id", "list_id", "action_id", "mitigation_id", "policy_id"}
DERIVED |= {"override_id"}


def table(heading: str) -> list[list[str]]:
    """Member, type and default of each row under a heading."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip("| ") for cell in row[:3]] for row in rows]


def described(shape: shapes.Shape) -> str:
    """A shape in the words of the page."""
    match shape:
        case shapes.Text():
            return f"text, at most {shape.maximum:,}"
        case shapes.Integer():
            return f"integer, {shape.minimum:,} to {shape.maximum:,}"
        case shapes.Number():
            return f"number, {shape.minimum:,} to {shape.maximum:,}"
        case shapes.Choice():
            return ", ".join(f"`{value}`" for value in shape.values)
        case shapes.Reference():
            return f"slug of `{shape.section}`"
        case shapes.Headers():
            return f"names and values, at most {shape.maximum}"
        case shapes.Map():
            return f"names and {described(shape.item)}s, at most {shape.maximum}"
        case shapes.Labels():
            return f"labels, at most {shape.maximum}"
        case shapes.Many():
            return f"list of {shape.minimum:,} to {shape.maximum:,}: {described(shape.item)}"
        case shapes.Part():
            return shape.type.__name__
    plain = {
        shapes.Identifier: "UUID", shapes.Slug: "slug", shapes.Boolean: "bool",
        shapes.Expression: "expression", shapes.Network: "address or network",
        shapes.Origin: "origin", shapes.UrlTemplate: "URL", shapes.SecureUrl: "https URL",
        shapes.Moment: "time",
    }  # fmt: skip
    return plain[type(shape)]


def choices(cls: Any) -> set[str]:
    """The values that members of a class choose from."""
    found = map(shapes.shape_of, shapes.members(cls).values())
    return {value for shape in found if isinstance(shape, shapes.Choice) for value in shape.values}


def default_of(cls: type, attribute: attrs.Attribute[Any]) -> str:
    """A default in the words of the page."""
    if attribute.default is attrs.NOTHING:
        is_derived = attribute.name in {*DERIVED, "entity_definition_id"} or cls is model.Clause
        return "derived" if is_derived else "required"
    factory = getattr(attribute.default, "factory", None)
    default = factory() if factory else attribute.default
    match default:
        case None:
            return "none"
        case bool():
            return f"`{str(default).lower()}`"
        case int():
            return f"{default:,}"
        case str() if default:
            return f"`{default}`"
        case model.Settings():
            return "its defaults"
        case model.Tenant():
            return f"`{default.slug}`"
    return "below" if default else "empty"


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_member_is_there_with_its_type_and_default(cls: Any) -> None:
    """The page lists every member of the model with its type and default."""
    heading = "Document" if cls is model.Definitions else cls.__name__
    assert table(heading) == [
        [f"`{name}`", described(shapes.shape_of(attribute)), default_of(cls, attribute)]
        for name, attribute in shapes.members(cls).items()
    ]


def test_the_example_loads() -> None:
    """The example of the page loads without a finding, and it means what it says."""
    example, quoted, kept, edited, priced, labelled = re.findall(
        r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
    )
    compilation = read_document(example)
    assert compilation.findings == ()
    assert [each.slug for each in compilation.compiled.policies] == [
        "our-own-people",
        "password-guessing",
    ]
    assert len(read_document(f"apiVersion: tidegate/v1\n{quoted}").compiled.actions) == 2
    assert len(read_document(f"apiVersion: tidegate/v1\n{kept}").compiled.actions) == 1
    assert read_document(edited).findings == ()
    priced = "- name: Pay\n  mode: Block\n" + indent(priced, "  ")
    assert read_document(f"apiVersion: tidegate/v1\nmitigations:\n{priced}").findings == ()
    (policy,) = read_document(f"apiVersion: tidegate/v1\n{labelled}").compiled.source.policies
    assert policy.labels == {"team": "accounts", "ticket": "SEC-114"}


def test_every_code_is_there() -> None:
    """The codes that the reading of documents can report, all of them and only those."""
    package = Path(document.__file__).parent
    texts = [path.read_text() for path in package.glob("*.py") if path.name != "forms.py"]
    constants = (
        node.value
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    codes = {value for value in constants if re.fullmatch(r"[a-z]+(-[a-z]+)+", value)}
    codes -= {value for cls in CLASSES for value in choices(cls)}
    section = PAGE.split("\n## Refusals\n", 1)[1]
    listed = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([^`]+)`", " ".join(listed))) == codes
