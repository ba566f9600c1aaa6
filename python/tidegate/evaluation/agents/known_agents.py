"""Agents of known makers that name themselves.

ua-parser's data misses some of these names, calls others by a part of the name or of the page
behind it, and others by the browser or phone next to them.  A user agent that has one of these
words is a robot's, of that family.  The words are those that the makers publish; a visitor that
sends one has not thereby shown to be the maker.  Both evaluators read this table.
"""

from __future__ import annotations

import attrs

UPDATED = "2026-11-23"
"""The day on which the makers' pages were last read."""


@attrs.frozen
class KnownAgent:
    """One agent.

    Attributes:
        family: the value of ``derived.ua_family``.
        maker: who runs it.
    """

    family: str
    maker: str

    @property
    def word(self) -> str:
        """A word of its user agent, in either case of letters: the name itself."""
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
        # The longer name first: `Applebot-Extended` has the word `Applebot` too.
        key=lambda known: len(known.word),
        reverse=True,
    )
)
"""Looked for in this order; the first that is found names the family."""
