"""Attacks on web applications are events like any other."""

from __future__ import annotations

import orjson
from tests.hostile.firewall_requests import firewall_events

import tidegate

RULES = {
    "rewritten": "request.path != request.raw_path",
    "suffix": 'request.path.endsWithAny([".php", ".env", "/etc/passwd"])',
    "query": 'request.query_params.exists(name, request.query_params[name].contains("<"))',
    "header": 'request.headers.exists(name, request.headers[name].matches("(?i)gzip|json|=.*="))',
    "body": '"body" in fields && fields["body"].matches("(?i)<script|/bin/|\\\\$\\\\{")',
    "member": "has(request.body) && type(request.body) == map",
    "agent": 'request.user_agent.contains("CRS") && request.host == "localhost"',
}


def test_both_evaluators_read_requests_of_a_firewalls_tests_alike() -> None:
    """The same rules hold, from bytes and from a dict; each rule is met and missed."""
    native, reference = (
        tidegate.RuleSet(RULES, evaluator=name) for name in ("native", "reference")
    )
    seen = dict.fromkeys(RULES, 0)
    events = firewall_events()
    for event in events:
        found = native.match(orjson.dumps(event)).matched
        assert found == native.match(event).matched, event
        assert found == reference.match(event).matched, event
        for rule in found:
            seen[rule] += 1
    assert all(0 < count < len(events) for count in seen.values()), seen
