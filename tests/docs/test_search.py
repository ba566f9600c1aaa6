"""The search of the built site: a newcomer's questions lead to the pages that answer them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tools.site import pages

GENERATOR = pages.ROOT / ".venv-docs" / "bin" / "zensical"
SEARCH = Path(__file__).with_name("site_search.mjs")
SHOWN = 3
"""Results that a reader sees without scrolling."""
QUESTIONS: Mapping[str, tuple[str, str]] = {
    "How do I install it?": ("install", "tutorial.html"),
    "Can it read my access log?": ("access log", "tutorial.html"),
    "How do I monitor before blocking?": ("monitor before blocking", "tutorial.html"),
    "How do I ban an address by hand?": ("ban ip", "decision.html"),
    "Why was this visitor blocked?": ("why blocked", "console.html"),
    "How do I unblock a visitor?": ("unblock visitor", "console.html"),
    "What about a false positive?": ("false positive", "console.html"),
    "How do I test a policy?": ("test policy", "testing-policies.html"),
    "Does it stop AI crawlers?": ("ai crawlers", "packs.html"),
    "Does Googlebot pass?": ("googlebot", "packs.html"),
    "Can a visitor without JavaScript pass a challenge?": (
        "challenge without javascript",
        "challenges.html",
    ),
    "Does it work with Django?": ("django", "integrations.html"),
    "What happens when Tidegate is down?": ("fail open", "integrations.html"),
    "I am behind a load balancer.": ("behind load balancer", "integrations.html"),
    "How are IPv6 clients counted?": ("ipv6", "fields.html"),
    "What does it store of personal data?": ("personal data", "fields.html"),
    "Which exit codes do commands have?": ("exit code", "cli.html"),
    "How do I make a backup?": ("backup", "service.html"),
    "Does it use PostgreSQL?": ("postgresql", "service.html"),
    "Which metrics does Prometheus get?": ("prometheus metrics", "service.html"),
    "Does it have high availability?": ("high availability", "cluster.html"),
    "Does it run on Kubernetes?": ("kubernetes", "cluster.html"),
    "Can operators log in by single sign-on?": ("single sign-on", "login.html"),
    "Does it support OpenTelemetry?": ("opentelemetry traceparent", "telemetry.html"),
    "Can it send decisions to a webhook?": ("webhook", "publishing.html"),
    "Which regular expressions are accepted?": ("regular expression", "language.html"),
    "How do I replace ModSecurity rules?": ("modsecurity rules", "coming-from/modsecurity.html"),
    "How do I limit the rate of logins?": ("rate limit login", "coming-from/nginx.html"),
}
"""The questions of a newcomer, what they type, and the page that answers each."""
NONSENSE = "qwertyuiop asdfghjkl"
"""Words of no page."""


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory, process: None, node: None
) -> Mapping[str, Sequence[str]]:
    """The addresses that the site's own search finds for each question, best first."""
    assert GENERATOR.exists(), "`make docs` installs the generator of the site"
    site = tmp_path_factory.mktemp("site") / "site"
    # A process of its own: commands read the settings when they are imported.
    made = [sys.executable, "-m", "tools.site.pages", str(site)]
    subprocess.run(made, cwd=pages.ROOT, capture_output=True, check=True)
    built = [str(GENERATOR), "build", "--strict", "-f", "mkdocs.yml"]
    subprocess.run(built, cwd=site, capture_output=True, check=True)
    typed = [*(words for words, _ in QUESTIONS.values()), NONSENSE]
    asked = subprocess.run(
        ["node", str(SEARCH), str(site / "html")],
        input="\n".join(typed),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in asked.stdout.splitlines()]
    return dict(zip(typed, answers, strict=True))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_its_page(question: str, results: Mapping[str, Sequence[str]]) -> None:
    """The page that answers a newcomer's question is among the first three results."""
    typed, page = QUESTIONS[question]
    found = [address.partition("#")[0] for address in results[typed][:SHOWN]]
    assert page in found, f"{typed}: {results[typed][:SHOWN]}"


def test_words_of_no_page_find_nothing(results: Mapping[str, Sequence[str]]) -> None:
    """The search isn't one that finds every page whatever is typed."""
    assert results[NONSENSE] == []
