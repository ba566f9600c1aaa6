"""Results as a notebook shows them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import tidegate
from tidegate import notebook

DOCUMENT = {
    "apiVersion": "tidegate/v1",
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "mitigations": [{"name": "Refuse", "mode": "Block", "block": {"body": "<b>no</b>"}}],
    "policies": [
        {
            "name": "All",
            "clauses": [
                {
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 1},
                }
            ],
        }
    ],
}
HOSTILE = "<script>alert(1)</script>"
EVENT = {"request": {"path": HOSTILE, "client_ip": "192.0.2.7"}}


def results() -> dict[str, Any]:
    """One of each kind."""
    engine = tidegate.Engine(DOCUMENT)
    rules = tidegate.RuleSet({HOSTILE: 'request.path == "/"', "bad": "int(fields.n) > 1"})
    with tidegate.Client("http://127.0.0.1:9", "k", fail_mode="closed") as nowhere:
        fallback = nowhere.decide(EVENT)
    return {
        "decision": engine.decide(EVENT),
        "fallback": fallback,
        "explanation": engine.explain(EVENT),
        "matches": rules.match({"request": {"path": "/"}}, errors=True),
        "no match": rules.match({"request": {"path": "/a"}}),
        "stats": rules.stats(),
        "program": tidegate.compile(f'request.path == "{HOSTILE}"'),
    }


class Reader(HTMLParser):
    """Notes what is open and what was ever opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_result_shows_itself() -> None:
    """Every result shows itself as whole HTML, in which nothing of the event is markup."""
    shown = results()
    assert len(shown) == 7
    for name, result in shown.items():
        reader = Reader()
        reader.feed(result._repr_html_())
        assert not reader.open, name
        assert reader.seen <= {"table", "thead", "tbody", "tr", "th", "td", "pre", "p"}, name
        assert reader.seen & {"table", "pre"}, name


def test_a_decision_shows_what_decided() -> None:
    """The action, the policy with its window, and the actor."""
    shown = results()["decision"]._repr_html_()
    for text in ("block", "403", "&lt;b&gt;no&lt;/b&gt;", "all", "1 of 1", "192.0.2.7"):
        assert text in shown


def test_many_rows_are_counted() -> None:
    """A notebook keeps what it shows in its file."""
    shown = notebook.table(("n",), ([number] for number in range(1_000)))
    assert shown.count("<td>") == notebook.MAX_ROWS
    assert "and 800 more" in shown


def test_engines_and_rule_sets_have_a_short_name() -> None:
    """The short name stands in a notebook and in a log."""
    assert repr(tidegate.Engine(DOCUMENT)) == "<Engine of 1 policies, native>"
    assert repr(tidegate.RuleSet({"a": "true"})) == "<RuleSet of 1 rules, native>"
