"""G8: many patterns in one field, compared with libraries that do nothing else."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any

import tidegate
from benchmarks.goals.from_python import ROUNDS, SECONDS, optional
from benchmarks.goals.goal import Goal, absent
from benchmarks.peers.timing import Work, interleave
from benchmarks.traffic.workload import TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Sequence


def vocabulary() -> tuple[list[str], list[str]]:
    """Literals and regular expressions for user agents."""
    with gzip.open(TRAFFIC / "vocab.json.gz") as stream:
        kinds = json.load(stream)["kinds"]
    literals = (tree[2] for tree, *_ in kinds["ua_contains"])
    patterns = (tree[2] for tree, *_ in kinds["ua_regex"])
    return list(dict.fromkeys(literals)), list(dict.fromkeys(patterns))


def measure(events: Sequence[bytes]) -> list[Goal]:
    """Searches of user agents that are all different and too many to remember."""
    literals, patterns = vocabulary()
    agents = [
        f"{json.loads(event)['request'].get('user_agent', '')} {number:x}"
        for number, event in enumerate(events)
    ]
    ours = _rules("contains", literals)
    both = _rules("contains", literals, patterns)
    work = {
        "literals": Work(ours.match, [_prepared(ours, agent) for agent in agents]),
        "both": Work(both.match, [_prepared(both, agent) for agent in agents]),
    }
    if ahocorasick := optional("ahocorasick_rs"):
        dfa = ahocorasick.Implementation.DFA
        search = ahocorasick.AhoCorasick(literals, implementation=dfa).find_matches_as_indexes
        work["ahocorasick_rs"] = Work(lambda text: search(text, overlapping=True), agents)
    if hyperscan := optional("hyperscan"):
        work["hyperscan"] = _hyperscan(hyperscan, literals, agents)
    if re2 := optional("re2"):
        pattern_set = re2.Set.SearchSet()
        for literal in literals:
            pattern_set.Add(re2.escape(literal))
        pattern_set.Compile()
        work["re2"] = Work(pattern_set.Match, agents)
    times = interleave(work, rounds=ROUNDS, seconds=SECONDS)
    goals = [
        Goal(
            "G8", "regexes and literals over literals", 1.3, times["both"] / times["literals"], "x"
        )
    ]
    for name, bound in (("ahocorasick_rs", 1.0), ("hyperscan", 2.0), ("re2", 1.0)):
        what = f"{len(literals):,} literals over {name}"
        if name in times:
            goals.append(Goal("G8", what, bound, times["literals"] / times[name], "x"))
        else:
            goals.append(absent("G8", what, bound, f"{name} is not installed"))
    return goals


def _rules(function: str, literals: list[str], patterns: Sequence[str] = ()) -> tidegate.RuleSet:
    texts = [f"request.user_agent.{function}({json.dumps(literal)})" for literal in literals]
    texts += [f"request.user_agent.matches({json.dumps(pattern)})" for pattern in patterns]
    return tidegate.RuleSet({str(number): text for number, text in enumerate(texts)})


def _prepared(rules: tidegate.RuleSet, agent: str) -> object:
    return rules.prepare({"request": {"user_agent": agent}})


def _hyperscan(hyperscan: Any, literals: list[str], agents: list[str]) -> Work:
    database = hyperscan.Database()
    flags = hyperscan.HS_FLAG_SINGLEMATCH
    expressions = [re.escape(literal).encode() for literal in literals]
    ids = list(range(len(expressions)))
    database.compile(expressions=expressions, ids=ids, flags=[flags] * len(ids))

    def search(text: bytes) -> list[int]:
        found: list[int] = []
        database.scan(text, match_event_handler=lambda number, *_: found.append(number))
        return found

    return Work(search, [agent.encode() for agent in agents])
