"""Check whether challenged visitors can get through, with reasons and outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tidegate.policy.definitions.model import Challenge
from tidegate.policy.definitions.return_urls import may_not_return, no_return
from tidegate_server.challenge.public_url import unreachable
from tidegate_server.challenge.return_url import destination
from tidegate_server.challenges.opening import settings_of
from tidegate_server.control.call import Answer, Call
from tidegate_server.stores.objects import challenges, definitions, passes
from tidegate_server.wire import challenges as wire_challenges
from tidegate_server.wire import period as wire_period

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate_server.stores.objects.definitions import Definition

_PAGE = 500


def self_test(call: Call) -> Answer:
    """Return green if every enabled challenge of the tenant works, otherwise red with reasons."""
    with call.app.store.read() as connection:
        settings = settings_of(connection, call.tenant_id)
        found = definitions.of_kind(connection, call.tenant_id, "mitigation")
    live = [each for each in found if _is_live(each)]
    public_url = call.app.challenges.public_url()
    reasons = [] if live else ["no challenge mitigation is enabled"]
    reason = unreachable(public_url)
    if reason is not None:
        reasons.append(f"browsers do not reach the public URL: {reason}; set `server.public_url`")
    tests = tuple(
        _provider_test(call, name, live, settings, public_url)
        for name in call.app.challenges.providers
    )
    is_green = not reasons and all(each.status == "green" for each in tests if each.mitigations)
    return Answer(
        body=wire_challenges.SelfTest(
            tenant_id=call.tenant_id,
            status="green" if is_green else "red",
            public_url=public_url,
            reasons=tuple(reasons),
            warnings=tuple(_not_returning(live, settings["return_url_origins"])),
            providers=tests,
        )
    )


def results(call: Call) -> Answer:
    """Return outcomes of the challenges of a tenant."""
    query: wire_period.Span = call.query
    with call.app.store.read() as connection:
        counted = challenges.counts(connection, call.tenant_id, query.from_ns, query.to_ns)
        alive = passes.alive(connection, call.now, call.tenant_id)
    return Answer(
        body=wire_challenges.ChallengeResults(
            tenant_id=call.tenant_id,
            providers=tuple(
                wire_challenges.ProviderResults(
                    provider=each.provider,
                    issued=each.issued,
                    solved=each.solved,
                    failed=each.failed,
                    looped=each.looped,
                    seconds_to_solve=each.seconds / each.solved if each.solved else None,
                )
                for each in counted
            ),
            passes_alive=alive,
        )
    )


def _is_live(found: Definition) -> bool:
    return found.body.get("mode") == "Challenge" and bool(found.body.get("enabled", True))


def _provider_test(
    call: Call,
    name: str,
    live: list[Definition],
    settings: Mapping[str, Any],
    public_url: str,
) -> wire_challenges.ProviderTest:
    using = [each for each in live if _challenge(each).provider == name]
    unusable = call.app.challenges.providers[name].why_unusable(public_url)
    reasons = [unusable] if unusable else []
    reasons += _bad_templates(using, settings["return_url_origins"])
    return wire_challenges.ProviderTest(
        provider=name,
        status="red" if reasons else "green",
        reasons=tuple(reasons),
        mitigations=tuple(each.name for each in using),
    )


def _bad_templates(using: list[Definition], origins: tuple[str, ...]) -> Iterator[str]:
    for each in using:
        template = _challenge(each).default_return_url_template
        if template is not None and destination(None, template, origins) is None:
            yield f"the return URL of `{each.slug}` is of none of the tenant's origins"


def _not_returning(live: list[Definition], origins: tuple[str, ...]) -> Iterator[str]:
    lost = [each.slug for each in live if may_not_return(_challenge(each), origins)]
    if lost:
        finding = no_return(lost)
        yield f"{finding.message}; {finding.hint}"


def _challenge(found: Definition) -> Challenge:
    return Challenge(**(found.body.get("challenge") or {}))
