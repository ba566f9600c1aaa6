"""Bans and exemptions by hand: made for a time from now, removed once they have ended."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.functions.addresses import parse_range
from tidegate.policy.definitions.overrides import moment
from tidegate.policy.definitions.slugs import slug_from_name
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.changes import ObjectChange
from tidegate_server.definitions.objects import Handlers
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire.kinds import OVERRIDE, to_body, to_wire_members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.edge.addresses import TrustedProxies
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.stores.objects.definitions import Definition

_SECOND = 1_000_000_000
_MAX_NAME = 200
PROXIES = "the network contains proxies that the service trusts, which can't be banned"
_VERBS = {"ban": "Ban", "allow": "Let through"}


@attrs.frozen
class OverrideHandlers(Handlers):
    """The handlers of overrides, whose times and author the service sets."""

    def create(self, call: Call) -> Answer:
        """Create an override that begins now, and remove those that have ended."""
        body: wire_definitions.OverrideCreate = call.body
        if body.kind == "ban" and contains_proxies(call.app.proxies, body.network):
            error = ErrorDetail(detail=PROXIES, code="protected-network", pointer="/network")
            raise Problem("invalid-definitions", PROXIES, errors=[error])

        def members_of(present: DefinitionSet) -> dict[str, Any]:
            target = body.network or f"entity {body.entity_id}"
            wanted = body.name or f"{_VERBS[body.kind]} {target}"
            return {
                "name": _free_name(present, wanted),
                "kind": body.kind,
                "network": body.network,
                "entity_id": body.entity_id,
                "starts_at": wire_common.time_text(call.now),
                "ends_at": wire_common.time_text(call.now + body.duration_seconds * _SECOND),
                "reason": body.reason,
                "author": (call.operator.email or call.operator.name)[:_MAX_NAME],
                "wide": body.wide,
            }

        return self.add(call, members_of, lambda present: _ended(present, call.now))

    def change(self, call: Call) -> Answer:
        """Change the end, counted from now, or the reason."""
        given = wire_common.given(call.body)
        seconds = given.pop("duration_seconds", None)
        if seconds is not None:
            given["ends_at"] = wire_common.time_text(call.now + seconds * _SECOND)

        def body_of(present: DefinitionSet, before: Definition) -> Mapping[str, Any]:
            members = to_wire_members(self.kind, before.body, present) | given
            return to_body(self.kind, {**members, "slug": before.slug}, present)

        return self.save(call, "update", body_of)


handlers = OverrideHandlers(OVERRIDE)


def _ended(present: DefinitionSet, now: int) -> list[ObjectChange]:
    """Return the removals of the overrides that no longer apply."""
    objects = present.objects[OVERRIDE.section]
    ended = (each for each in objects if moment(each.body["ends_at"]) <= now)
    return [ObjectChange("expire", each, None) for each in ended]


def _free_name(present: DefinitionSet, wanted: str) -> str:
    """Return the name, with a number if another override has it."""
    objects = present.objects[OVERRIDE.section]
    names = {each.name for each in objects}
    slugs = {each.slug for each in objects}
    for number in count(1):
        name = wanted[:_MAX_NAME] if number == 1 else f"{wanted[: _MAX_NAME - 8]} ({number})"
        if name not in names and slug_from_name(name, "override") not in slugs:
            return name
    raise AssertionError


def contains_proxies(proxies: TrustedProxies, network: str | None) -> bool:
    """Tell whether a network contains proxies that the service trusts."""
    found = None if network is None else parse_range(network)
    return found is not None and any(
        each.version == found.version and each.overlaps(found.network) for each in proxies.networks
    )
