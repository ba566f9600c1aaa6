"""Objects change in the text of a document; comments and layout of the rest stay."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.packs.test_merging import changed

from tidegate.packs import PackError
from tidegate.packs.editing import edit
from tidegate.policy.document import parse_document
from tidegate.policy.document.plain_data import to_python
from tidegate.policy.document.yaml_text import write_yaml

TEXT = """\
# the shop
apiVersion: tidegate/v1

actions:  # what people do
  # the login
  - name: Login
    expression: request.path == "/login" # exact
  - name: Search
    expression: |
      request.path == "/search" // a comment of the language
      || request.path == "/find#x"

  # behind the last one
mitigations:
- {name: Refuse, mode: Block}   # flow
lists: []
"""


def plain(text: str) -> dict[str, Any]:
    made: dict[str, Any] = to_python(parse_document(text).root)
    return made


def test_added_objects_leave_every_line_as_it_is() -> None:
    """Objects come behind the last of their section, with its indentation; new sections last."""
    after = plain(TEXT)
    after["actions"].append({"name": "New", "expression": "true"})
    after["mitigations"].append({"name": "Note", "mode": "Monitor"})
    after["lists"] = [{"name": "L", "kind": "ip"}]
    after["policies"] = [{"name": "P", "clauses": [{"name": "c"}]}]
    edited = edit(TEXT, after)
    assert plain(edited) == after
    assert "  - name: New\n    expression: 'true'\n\n  # behind the last one\n" in edited
    lines = iter(edited.splitlines())
    assert all(line in lines for line in TEXT.splitlines() if line != "lists: []")


def test_an_object_without_comments_is_written_again() -> None:
    """Only its own lines change."""
    after = plain(TEXT)
    after["actions"][1]["expression"] = "false"
    edited = edit(TEXT, after)
    assert plain(edited) == after
    assert edited.splitlines()[:7] == TEXT.splitlines()[:7]
    assert "# behind the last one" in edited


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda after: after["actions"][0].update(name="Other"), 7),
        (lambda after: after["actions"].pop(0), 7),
        (lambda after: after["mitigations"][0].update(ttl_seconds=1), 15),
    ],
)
def test_comments_are_not_lost_silently(change: Any, line: int) -> None:
    """An object with a comment inside isn't written again, unless comments may be dropped."""
    after = plain(TEXT)
    change(after)
    with pytest.raises(PackError, match=rf"comments in these lines: {line};"):
        edit(TEXT, after)
    assert plain(edit(TEXT, after, drop_comments=True)) == after


def test_a_comment_behind_the_sign_of_a_block_is_one() -> None:
    """`| # text` has a comment, and `#` within a text isn't one."""
    text = TEXT.replace("expression: |\n", "expression: | # why\n")
    after = plain(text)
    after["actions"][1]["expression"] = "false"
    with pytest.raises(PackError, match="in these lines: 9;"):
        edit(text, after)


@pytest.mark.parametrize("version", ["1.0.0", "'1.0.0'", '"1.0.0"'])
def test_the_version_of_a_pack_changes_in_place(version: str) -> None:
    """An update that changes nothing else in an object keeps its comments."""
    text = TEXT.replace("# exact\n", "# exact\n    labels:\n      pack_version: X # noted\n")
    after = plain(text.replace("X", "1.1.0"))
    edited = edit(text.replace("X", version), after)
    assert edited == text.replace("X", '"1.1.0"')


@pytest.mark.parametrize("comment", ["", "# all of it\n"])
def test_a_layout_that_cannot_be_kept_is_written_as_a_whole(comment: str) -> None:
    """A section in one line is written again, if that loses no comment."""
    text = comment + "apiVersion: tidegate/v1\nactions: [{name: A, expression: 'true'}]\n...\n"
    after = plain(text)
    after["actions"].append({"name": "B", "expression": "false"})
    if not comment:
        assert plain(edit(text, after)) == after
        return
    with pytest.raises(PackError, match="in these lines: 1;"):
        edit(text, after)
    assert plain(edit(text, after, drop_comments=True)) == after


def test_json_stays_json() -> None:
    """A document in JSON is written as JSON."""
    before = {"apiVersion": "tidegate/v1", "actions": [{"name": "A", "expression": "true"}]}
    after = {**before, "actions": []}
    assert json.loads(edit(json.dumps(before), after)) == after


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_edited_text_is_the_intended_document(data: st.DataObject) -> None:
    """For any changes of objects, and every comment between them stays."""
    before = {
        "apiVersion": "tidegate/v1",
        "actions": [{"name": f"A{n}", "expression": 'request.path == "/#x"'} for n in range(3)],
        "policies": [
            {"name": f"P{n}", "clauses": [{"name": "c"}, {"name": "d", "window": {"threshold": n}}]}
            for n in range(2)
        ],
    }
    text = write_yaml(before).replace("\n- name:", "\n# between\n- name:")
    after = data.draw(changed(deepcopy(before), "New"))
    edited = edit(text, after)
    found = plain(edited)
    for section in ("lists", "actions", "entities", "mitigations", "policies"):
        assert (found.get(section) or []) == (after.get(section) or [])
    assert edited.count("# between") == text.count("# between")
