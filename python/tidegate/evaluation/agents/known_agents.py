"""Known agents that identify themselves by name.

ua-parser's data misses some of these names, takes others from a part of the name or of the page
behind it, and others from the browser or phone next to them.  A user agent with one of these words
is a robot of that family.  The makers publish these words; sending one doesn't prove that the
visitor is the maker.  Both evaluators read this table.
"""

from __future__ import annotations

import attrs

UPDATED = "2026-11-23"
"""The day on which the makers' pages were last checked."""


@attrs.frozen
class KnownAgent:
    """One agent.

    Attributes:
        family: the value of ``derived.ua_family``.
        maker: the company that runs it.
    """

    family: str
    maker: str

    @property
    def word(self) -> str:
        """A word of its user agent, in any letter case: the name itself."""
        return self.family.lower()


_BY_MAKER: dict[str, tuple[str, ...]] = {
    "Amazon": ("Amazonbot", "Amzn-SearchBot", "Amzn-User", "NovaAct"),
    "Anthropic": ("ClaudeBot", "Claude-User", "Claude-SearchBot", "Claude-Web", "anthropic-ai"),
    "Apple": ("Applebot", "Applebot-Extended", "AppleNewsBot"),
    "Cloudflare": (
        "CloudFlare-AlwaysOnline",
        "Cloudflare-AMP",
        "Cloudflare-Diagnostics",
        "Cloudflare-Healthchecks",
        "Cloudflare-SSLDetector",
        "Cloudflare-Traffic-Manager",
        "Cloudflare SpeedTest",
    ),
    "Cohere": ("cohere-ai", "cohere-training-data-crawler"),
    "Datadog": ("DatadogSynthetics", "Datadog/Synthetics"),
    "DuckDuckGo": ("DuckDuckBot", "DuckAssistBot"),
    "Google": (
        "APIs-Google",
        "AdsBot-Google",
        "FeedFetcher-Google",
        "Google-Agent",
        "Google-CloudVertexBot",
        "Google-CWS",
        "Google-InspectionTool",
        "Google-NotebookLM",
        "Google-PageRenderer",
        "Google-Read-Aloud",
        "Google-Safety",
        "Google-Site-Verification",
        "GoogleOther",
        "Googlebot",
        "Mediapartners-Google",
        "Storebot-Google",
    ),
    "Meta": (
        "facebookcatalog",
        "facebookexternalhit",
        "meta-externalads",
        "meta-externalagent",
        "meta-externalfetcher",
        "meta-webindexer",
    ),
    "Microsoft": ("BingPreview", "MicrosoftPreview", "adidxbot", "bingbot"),
    "Mistral": ("MistralAI-User",),
    "OpenAI": ("ChatGPT-User", "GPTBot", "OAI-AdsBot", "OAI-SearchBot"),
    "Perplexity": ("Perplexity-User", "PerplexityBot"),
    "You.com": ("YouBot",),
}

KNOWN_AGENTS = tuple(
    sorted(
        (KnownAgent(family, maker) for maker, families in _BY_MAKER.items() for family in families),
        # The longer name first: `Applebot-Extended` contains `Applebot` too.
        key=lambda known: len(known.word),
        reverse=True,
    )
)
"""Searched in this order; the first one found names the family."""
