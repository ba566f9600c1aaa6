"""The pages that visitors see, by the outcome of their challenge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from tidegate_server.challenge.return_url import origin_of
from tidegate_server.pages.languages import Language, language_for
from tidegate_server.pages.page import page

if TYPE_CHECKING:
    from starlette.responses import Response

    from tidegate_server.control.call import Call
    from tidegate_server.http.given import Given
    from tidegate_server.http.problems import Problem
    from tidegate_server.stores.objects.challenges import ChallengeSession

TURNSTILE = "https://challenges.cloudflare.com"
SOLVING_MS = 600_000
"""How long a browser tries: a slow one takes minutes at the highest difficulty."""
_POLICIES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "pow": {"script-src": ["'wasm-unsafe-eval'"], "worker-src": ["'self'"]},
    "turnstile": {"script-src": [TURNSTILE], "frame-src": [TURNSTILE]},
}
_MESSAGES = {
    "challenge-expired": "expired",
    "challenge-solved": "done",
    "not-found": "unknown",
    "rate-limited": "busy",
    "too-many-requests": "busy",
    "overloaded": "busy",
    "store-unavailable": "busy",
    "challenge-provider-unavailable": "busy",
}
"""The texts of problems; all others use the text of ``error``."""


def challenge(
    call: Call,
    session: ChallengeSession,
    *,
    target: str | None,
    wait_seconds: int,
    is_manual: bool = False,
    alert: str | None = None,
    alert_seconds: int = 0,
    status: int = 200,
) -> Response:
    """Return the page of a challenge to solve.

    Args:
        target: the visitor's destination afterwards, if any.
        wait_seconds: of the method without JavaScript; 0 if there isn't one.
        is_manual: whether the visitor starts it.
        alert: the text about the previous failure.
        alert_seconds: for that text.
        status: of the answer.
    """
    language = _language(call)
    texts = language.texts
    root = _root(call.path)
    policy = {name: list(sources) for name, sources in _POLICIES[session.provider].items()}
    if target is not None:
        # Browsers also check the redirect target of a form against the policy.
        policy["form-action"] = [origin_of(target)]
    # A visitor who uses the waiting method, as offered or by choice, need not see the check again.
    shows_check = session.stage != "other" and alert != "too_early"
    return page(
        "challenge.html",
        language,
        root,
        status=status,
        policy=policy,
        provider=session.provider if shows_check else None,
        stage=session.stage,
        is_manual=is_manual,
        alert=None if alert is None else texts[alert].format(seconds=alert_seconds),
        action=f"{root}{session.challenge_id}/solution",
        page=f"{root}{session.challenge_id}?again=true",
        wait_seconds=wait_seconds,
        wait_text=texts["wait_text"].format(seconds=wait_seconds),
        reference=str(session.challenge_id),
        **_of_provider(session, texts),
    )


def _of_provider(session: ChallengeSession, texts: Mapping[str, str]) -> dict[str, Any]:
    if session.provider == "turnstile":
        return {
            "turnstile": f"{TURNSTILE}/turnstile/v0/api.js?render=explicit",
            "site_key": session.parameters["site_key"],
            "widget_action": session.parameters["action"],
            "cdata": session.parameters["cdata"],
        }
    configuration = {
        "hideFooter": True,
        "hideLogo": True,
        "humanInteractionSignature": False,
        "timeout": SOLVING_MS,
    }
    strings = {
        "label": texts["label"],
        "verifying": texts["solving"],
        "verified": texts["solved"],
        "error": texts["failed"],
        "expired": texts["failed"],
        "waitAlert": texts["solving"],
        "verificationRequired": texts["press"],
        "loading": texts["solving"],
    }
    return {
        "parameters": orjson.dumps(session.parameters).decode(),
        "configuration": orjson.dumps(configuration).decode(),
        "strings": orjson.dumps(strings).decode(),
    }


def stopped(call: Call, session: ChallengeSession) -> Response:
    """Return the page after too many rounds; the visitor can try once more by hand."""
    texts = _language(call).texts
    again = (f"{_root(call.path)}{session.challenge_id}?again=true", texts["retry"])
    return _message(call.path, _language(call), "stopped", 200, str(session.challenge_id), again)


def passed(call: Call, session: ChallengeSession) -> Response:
    """Return the page for a solved challenge without a destination."""
    return _message(call.path, _language(call), "back", 200, str(session.challenge_id))


def over(call: Call, session: ChallengeSession, problem: Problem, target: str | None) -> Response:
    """Return the page for a challenge that has ended; the visitor gets another at the site."""
    language = _language(call)
    link = None if target is None else (target, language.texts["leave"])
    name = _MESSAGES[problem.code]
    return _message(call.path, language, name, problem.status, str(session.challenge_id), link)


def problem_page(problem: Problem, given: Given) -> Response:
    """Return a refusal as a page."""
    language = language_for(given.headers.get("accept-language", ""))
    name = _MESSAGES.get(problem.code, "error")
    reference = str(given.ids.get("challenge_id", given.request_id))
    made = _message(given.path, language, name, problem.status, reference)
    made.headers.update(problem.headers)
    return made


def seconds_left(until_ns: int, now_ns: int) -> int:
    """Return the whole seconds until a time."""
    return math.ceil((until_ns - now_ns) / 1e9)


def _message(
    path: str,
    language: Language,
    name: str,
    status: int,
    reference: str,
    link: tuple[str, str] | None = None,
) -> Response:
    texts = language.texts
    return page(
        "message.html",
        language,
        _root(path),
        status=status,
        heading=texts[f"{name}_heading"],
        text=texts[f"{name}_text"],
        link=link[0] if link else None,
        link_text=link[1] if link else None,
        reference=reference,
    )


def _language(call: Call) -> Language:
    return language_for(call.headers.get("accept-language", ""))


def _root(path: str) -> str:
    """Return the relative path from a page to the folder of challenges."""
    return "../" * path.partition("/challenge/")[2].count("/")
