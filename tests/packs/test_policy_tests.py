"""The packs' own tests, with both evaluators; every clause fires in them and stays quiet."""

from __future__ import annotations

import re
from collections import defaultdict
from copy import deepcopy
from typing import Any

import orjson
import pytest

from tidegate.definitions import load_definitions, parse_definitions
from tidegate.engine import Engine
from tidegate.packs import BUNDLED, bundled_pack
from tidegate.packs.objects import by_slug
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.coverage import Coverage
from tidegate.testing.policies import PolicyTest, policy_tests
from tidegate.testing.policies.running import events_of

TESTS = {name: policy_tests(bundled_pack(name).folder / "tests") for name in BUNDLED}


@pytest.mark.parametrize("test", [each for tests in TESTS.values() for each in tests], ids=str)
def test_a_pack_keeps_its_tests(test: PolicyTest) -> None:
    """The native evaluator and the reference decide as the pack says."""
    test.check()


@pytest.mark.parametrize("name", BUNDLED)
def test_every_clause_fires_in_one_test_and_is_quiet_in_another(name: str) -> None:
    """No clause of a pack is without a test, and none fires in all of them."""
    pack = bundled_pack(name)
    fired = defaultdict(set)
    for number, test in enumerate(TESTS[name]):
        engine = Engine(load_definitions(pack.folder / "definitions.yaml"), clock=lambda: 0)
        for sent in events_of(test.case):
            for each in engine.decide(sent.event, sent.at).fired:
                fired[each.policy, each.clause].add(number)
    clauses = {
        (slug, clause["name"])
        for slug, policy in by_slug(pack.definitions, "policies").items()
        for clause in policy["clauses"]
    }
    assert fired.keys() == clauses
    for found in fired.values():
        assert 0 < len(found) < len(TESTS[name])


REFRESHED = {"actions.verified_bots_proven"}
"""Parts that ask lists by an action, where nothing else makes it true."""


@pytest.mark.parametrize("name", BUNDLED)
def test_the_tests_of_a_pack_cover_it(name: str) -> None:
    """Every clause is covered, and every part of the expressions is true once and false once.

    A part that asks a list which is empty until a refresh fills it is false once.
    """
    definitions = load_definitions(bundled_pack(name).folder / "definitions.yaml")
    coverage = Coverage(compile_definitions(definitions))
    for test in TESTS[name]:
        coverage.begin()
        for sent in events_of(test.case):
            coverage.decide(sent.event, sent.at)
    assert [each.clause for each in coverage.clauses.values() if not each.is_covered] == []
    filled = {each.slug for each in definitions.lists if each.entries}
    for atom in (atom for each in coverage.expressions.values() for atom in each.atoms):
        asked = re.findall(r'inList\("([^"]+)"\)', atom.text)
        assert atom.false, atom.text
        assert bool(atom.true) == (set(asked) <= filled and atom.text not in REFRESHED), atom.text


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Googlebot", "google"),
        ("bingbot", "bing"),
        ("DuckDuckBot", "duckduckgo"),
        ("DuckAssistBot", "duckduckgo"),
        ("GPTBot", "gptbot"),
        ("OAI-SearchBot", "oai-searchbot"),
        ("ChatGPT-User", "chatgpt-user"),
        ("PerplexityBot", "perplexitybot"),
        ("Perplexity-User", "perplexity-user"),
    ],
)
def test_an_address_that_a_refresh_found_proves_its_agent_alone(name: str, slug: str) -> None:
    """An agent passes from an address in its own list, and from one in another list it doesn't."""
    document: Any = deepcopy(bundled_pack("verified-bots").definitions)
    lists = document["lists"]
    assert len(lists) == 8
    for number, each in enumerate(lists):
        each["entries"] = [f"192.0.2.{number}/32"]
    own = by_slug(document, "lists")[f"verified-bots-{slug}"]["entries"]
    engine = Engine(parse_definitions(orjson.dumps(document)), clock=lambda: 0)
    for each in lists:
        address = each["entries"][0].removesuffix("/32")
        event = {"request": {"path": "/", "client_ip": address, "user_agent": name}}
        decision = engine.decide(event, 0)
        assert (decision.action.type == "allow") == (each["entries"] == own), address
