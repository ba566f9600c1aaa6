"""Compare recorded and replayed decisions: counts, and the decisions that differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import attrs

from tidegate.policy.explain.left_out import LeftOut
from tidegate_server.stores.decision_log.replay_jobs import Difference

_COMPARED = ("policy", "clause", "mitigation")


def _no_actions() -> dict[str, int]:
    return {"allow": 0, "challenge": 0, "block": 0}


@attrs.define
class Outcomes:
    """The results of a replay so far.

    Args:
        max_differences: how many are kept, from the first on.
        left_out: counts the events that the draft's entity definitions apply to; None if that isn't
            requested.
    """

    _max_differences: int
    _left_out: LeftOut | None = None
    _events: int = 0
    _skipped: int = 0
    _different: int = 0
    _listed: int = 0
    _recorded: dict[str, int] = attrs.field(factory=_no_actions)
    _replayed: dict[str, int] = attrs.field(factory=_no_actions)
    _policies: dict[str, dict[str, int]] = attrs.field(factory=dict)
    _differences: list[Difference] = attrs.field(factory=list)

    def skip(self) -> None:
        """Count an event that the draft refuses."""
        self._events += 1
        self._skipped += 1

    def add(
        self,
        decision_id: UUID,
        recorded: Mapping[str, Any],
        replayed: Mapping[str, Any],
        event: bytes = b"",
    ) -> None:
        """Count a decision, and keep it if it differs.

        Args:
            decision_id: the id of both.
            recorded: the recorded one.
            replayed: the draft's.
            event: the decided event; needed if the draft's entity definitions are counted.
        """
        self._events += 1
        if self._left_out is not None:
            self._left_out.add(
                event,
                {each["definition"] for each in replayed["entities"]},
                replayed["matched_actions"],
                {each["policy"] for each in replayed["fired"]},
            )
        before, after = shown(recorded), shown(replayed)
        self._recorded[before["action"]] += 1
        self._replayed[after["action"]] += 1
        for name, record in (("recorded", recorded), ("replayed", replayed)):
            for policy in {each["policy"] for each in record["fired"]}:
                counts = self._policies.setdefault(policy, {"recorded": 0, "replayed": 0})
                counts[name] += 1
        if all(before[each] == after[each] for each in ("action", *_COMPARED)):
            return
        if self._different < self._max_differences:
            difference = Difference(
                ordinal=self._different, decision_id=decision_id, recorded=before, replayed=after
            )
            self._differences.append(difference)
            self._listed += 1
        self._different += 1

    def take_differences(self) -> list[Difference]:
        """Return the differences found since the last call."""
        taken, self._differences = self._differences, []
        return taken

    def result(self, evictions: int) -> dict[str, Any]:
        """Return all counts, as they are stored and answered."""
        return {
            "events": self._events,
            "skipped": self._skipped,
            "different": self._different,
            "differences_listed": self._listed,
            "recorded": self._recorded,
            "replayed": self._replayed,
            "policies": [
                {"policy": policy, **counts} for policy, counts in sorted(self._policies.items())
            ],
            "evictions": evictions,
            "entities": self._left_out.entities() if self._left_out else [],
            "could_not_fire": self._left_out.could_not_fire() if self._left_out else [],
        }


def shown(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a record that a difference keeps."""
    return {
        "action": record["action"]["type"],
        "reason": record["reason"],
        **{each: record[each] for each in _COMPARED},
    }
