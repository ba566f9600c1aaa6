"""The registry of agents that identify themselves by name: one table, for both evaluators.

ua-parser's data misses some of these names, takes others from a part of the name or of the page
behind it, and others from the browser or phone next to them.  A user agent with one of these words
is a robot of that family.  The operators publish these words; sending one doesn't prove that the
visitor is the operator's (docs/agents.md).
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import attrs

UPDATED = "2026-11-29"
"""The day on which the operators' pages were last checked."""

Purpose: TypeAlias = Literal["search", "training", "user", "monitoring", "feed", "other"]
PURPOSES: tuple[str, ...] = get_args(Purpose)
"""Purposes of agents: an index for searches, texts for training, a page that a person asked for,
checks of availability, feeds, and anything else."""


@attrs.frozen
class KnownAgent:
    """One agent.

    Attributes:
        family: its product name, which is the value of ``derived.ua_family`` and
            ``agent.product``.
        operator: the company that runs it.
        purpose: why it comes.
        ranges: the name of its published addresses in ``ranges.py``; empty if it has none.
        directory: the URL of its published keys; empty if it has none.
    """

    family: str
    operator: str
    purpose: Purpose
    ranges: str = ""
    directory: str = ""

    @property
    def word(self) -> str:
        """A word of its user agent, in any letter case: the name itself."""
        return self.family.lower()


@attrs.frozen
class _Operator:
    """An operator's agents by purpose.

    Attributes:
        source: the page that names them.
        agents: the names for each purpose.
        ranges: the name of published addresses by agent.
        directories: the URL of published keys by agent.
    """

    source: str
    agents: dict[Purpose, tuple[str, ...]]
    ranges: dict[str, str] = attrs.field(factory=dict)
    directories: dict[str, str] = attrs.field(factory=dict)


_OPERATORS: dict[str, _Operator] = {
    "Amazon": _Operator(
        "https://developer.amazon.com/amazonbot",
        {
            "search": ("Amzn-SearchBot",),
            "training": ("Amazonbot",),
            "user": ("Amzn-User", "NovaAct"),
        },
    ),
    "Anthropic": _Operator(
        "https://support.claude.com/en/articles/8896518",
        {
            "search": ("Claude-SearchBot",),
            "training": ("ClaudeBot", "Claude-Web", "anthropic-ai"),
            "user": ("Claude-User",),
        },
    ),
    "Apple": _Operator(
        "https://support.apple.com/119829",
        {"search": ("Applebot",), "training": ("Applebot-Extended",), "feed": ("AppleNewsBot",)},
    ),
    "Cloudflare": _Operator(
        "https://developers.cloudflare.com/fundamentals/reference/cloudflare-site-crawling/",
        {
            "monitoring": (
                "Cloudflare-Diagnostics",
                "Cloudflare-Healthchecks",
                "Cloudflare-SSLDetector",
                "Cloudflare-Traffic-Manager",
                "Cloudflare SpeedTest",
            ),
            "other": ("CloudFlare-AlwaysOnline", "Cloudflare-AMP"),
        },
    ),
    "Cohere": _Operator(
        "https://cohere.com", {"training": ("cohere-ai", "cohere-training-data-crawler")}
    ),
    "Datadog": _Operator(
        "https://docs.datadoghq.com/synthetics/",
        {"monitoring": ("DatadogSynthetics", "Datadog/Synthetics")},
    ),
    "DuckDuckGo": _Operator(
        "https://duckduckgo.com/duckduckgo-help-pages/results/duckduckbot",
        {"search": ("DuckDuckBot", "DuckAssistBot")},
        {"DuckDuckBot": "DuckDuckGo", "DuckAssistBot": "DuckDuckGo"},
    ),
    "Google": _Operator(
        "https://developers.google.com/search/docs/crawling-indexing/overview-google-crawlers",
        {
            "search": ("Googlebot", "Storebot-Google"),
            "training": ("Google-CloudVertexBot",),
            "user": (
                "Google-Agent",
                "Google-NotebookLM",
                "Google-PageRenderer",
                "Google-Read-Aloud",
            ),
            "feed": ("FeedFetcher-Google",),
            "other": (
                "APIs-Google",
                "AdsBot-Google",
                "Google-CWS",
                "Google-InspectionTool",
                "Google-Safety",
                "Google-Site-Verification",
                "GoogleOther",
                "Mediapartners-Google",
            ),
        },
        {"Googlebot": "Google"},
        {
            "Google-Agent": "https://agent.bot.goog/.well-known/http-message-signatures-directory",
        },
    ),
    "Meta": _Operator(
        "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers",
        {
            "search": ("meta-webindexer",),
            "training": ("meta-externalagent",),
            "user": ("facebookexternalhit", "meta-externalfetcher"),
            "other": ("facebookcatalog", "meta-externalads"),
        },
    ),
    "Microsoft": _Operator(
        "https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0",
        {
            "search": ("bingbot", "BingPreview"),
            "user": ("MicrosoftPreview",),
            "other": ("adidxbot",),
        },
        {"bingbot": "Bing"},
    ),
    "Mistral": _Operator("https://docs.mistral.ai/robots", {"user": ("MistralAI-User",)}),
    "OpenAI": _Operator(
        "https://platform.openai.com/docs/bots",
        {
            "search": ("OAI-SearchBot",),
            "training": ("GPTBot",),
            "user": ("ChatGPT-User",),
            "other": ("OAI-AdsBot",),
        },
        {"OAI-SearchBot": "OpenAI", "GPTBot": "OpenAI", "ChatGPT-User": "OpenAI"},
        {"ChatGPT-User": "https://chatgpt.com/.well-known/http-message-signatures-directory"},
    ),
    "Perplexity": _Operator(
        "https://docs.perplexity.ai/guides/bots",
        {"search": ("PerplexityBot",), "user": ("Perplexity-User",)},
        {"PerplexityBot": "Perplexity", "Perplexity-User": "Perplexity"},
    ),
    "You.com": _Operator("https://about.you.com/youbot/", {"search": ("YouBot",)}),
}

KNOWN_AGENTS = tuple(
    sorted(
        (
            KnownAgent(
                family,
                operator,
                purpose,
                of.ranges.get(family, ""),
                of.directories.get(family, ""),
            )
            for operator, of in _OPERATORS.items()
            for purpose, families in of.agents.items()
            for family in families
        ),
        # The longer name first: `Applebot-Extended` contains `Applebot` too.
        key=lambda known: len(known.word),
        reverse=True,
    )
)
"""Searched in this order; the first one found names the family."""
