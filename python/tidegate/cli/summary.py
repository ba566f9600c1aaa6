"""Counts decisions and prints the counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import orjson
from rich.table import Table

from tidegate.cli.inputs.events import Line, Notes
from tidegate.cli.output import counted
from tidegate.evaluation.clients import PROBLEMS
from tidegate.functions.addresses import sent_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from tidegate.cli.subjects import Subject
    from tidegate.policy.explain.left_out import LeftOut

OUTCOMES = ("allow", "challenge", "block")
COUNTED = ("total", *OUTCOMES, "by_others", "monitor")
"""Counts per policy: the events at which it fired, in total and by answer, where a challenge or
block is its own answer. ``monitor`` counts events where only its Monitor clauses fired."""


_SHOWN = 60
"""Characters of a path in the table."""


@attrs.define
class Busiest:
    """The most frequent of many texts, in bounded memory: rare ones are dropped when there are too
    many."""

    MOST_KEPT: ClassVar[int] = 20_000
    counts: Counter[str] = attrs.field(factory=Counter)

    def add(self, text: str) -> None:
        """Count a text."""
        self.counts[text] += 1
        if len(self.counts) > self.MOST_KEPT:
            self.counts = Counter(dict(self.counts.most_common(self.MOST_KEPT // 2)))

    def most(self, shown: int) -> list[tuple[str, int]]:
        """The most frequent texts, with their counts; at most this many."""
        return self.counts.most_common(shown)


def last_of_chain(event: bytes) -> str:
    """The last address of an event with several in ``x-forwarded-for``; empty for others."""
    if b"orwarded-" not in event and b"ORWARDED-" not in event:
        return ""
    request = orjson.loads(event).get("request") or {}
    if request.get("client_ip") is not None:
        return ""
    headers = request.get("headers") or {}
    chains = [each for name, each in headers.items() if name.lower() == "x-forwarded-for"]
    addresses = [sent_address(each) for each in ",".join(map(str, chains)).split(",")]
    return str(addresses[-1] or "") if len(set(addresses) - {None}) > 1 else ""


@attrs.define
class Summary:
    """Decisions by outcome, by policy clause, and errors by place."""

    outcomes: Counter[str] = attrs.field(factory=Counter)
    reasons: Counter[str] = attrs.field(factory=Counter)
    answered: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(policy, clause) to the number of decisions it answered."""
    fired: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(policy, clause) to the number of events at which it fired by itself."""
    policies: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(policy, one of ``COUNTED``) to the number of events at which one of its clauses fired.

    This includes active mitigations.  The service's results count the same.
    """
    errors: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(place, code) to the number of events."""
    refused: Counter[str] = attrs.field(factory=Counter)
    addresses: dict[str, Busiest] = attrs.field(factory=dict)
    """policy to the addresses of the events at which it fired."""
    paths: dict[str, Busiest] = attrs.field(factory=dict)
    left_out: LeftOut | None = None
    """How many events entity definitions apply to; None if that isn't counted."""
    client_problems: Counter[str] = attrs.field(factory=Counter)
    """Reasons why a client named in an event has no address, to the number of events."""
    first_problem: str = ""
    """The place of the first such event."""
    trusts_proxies: bool = True
    """Whether the definitions name trusted proxies."""
    proxied: Counter[str] = attrs.field(factory=Counter)
    """The last of several addresses of a proxied event, if no proxy is trusted, to events."""
    notes: Notes = attrs.field(factory=Notes)
    """Peculiarities of the lines."""
    shown: int = 5
    """How many of the busiest addresses and paths of a policy are shown."""
    seconds: float = 0.0
    """Time from the first line to the last, including reading and counting."""
    engine_seconds: float = 0.0
    """Time for decisions alone."""

    def add(self, line: Line, decision: Mapping[str, Any], subject: Subject | None = None) -> None:
        """Count a line's decision, and its request if something fired.

        Args:
            line: the line.
            decision: the record of its decision.
            subject: its request.
        """
        problem = decision.get("client_ip_problem")
        if problem is not None:
            self.client_problems[problem] += 1
            self.first_problem = self.first_problem or line.place
        if not self.trusts_proxies:
            last = last_of_chain(line.text)
            if last:
                self.proxied[last] += 1
                if len(self.proxied) > Busiest.MOST_KEPT:
                    self.proxied = Counter(dict(self.proxied.most_common(self.shown)))
        if self.left_out is not None:
            self.left_out.add(
                line.text,
                {each["definition"] for each in decision["entities"]},
                decision["matched_actions"],
                {each["policy"] for each in decision["fired"]},
            )
        action = decision["action"]["type"]
        self.outcomes[action] += 1
        self.reasons[decision["reason"]] += 1
        if decision["policy"] is not None and decision["clause"] is not None:
            self.answered[decision["policy"], decision["clause"]] += 1
        modes: dict[str, set[str]] = {}
        for clause in decision["fired"]:
            if not clause["active"]:
                self.fired[clause["policy"], clause["clause"]] += 1
            modes.setdefault(clause["policy"], set()).add(clause["mode"])
        for policy, fired in modes.items():
            is_its_answer = action == "allow" or policy == decision["policy"]
            self.policies[policy, "total"] += 1
            self.policies[policy, action if is_its_answer else "by_others"] += 1
            self.policies[policy, "monitor"] += fired == {"Monitor"}
            if subject is not None:
                self.addresses.setdefault(policy, Busiest()).add(subject.client_ip)
                self.paths.setdefault(policy, Busiest()).add(subject.path)
        for place, code in decision["errors"].items():
            self.errors[place, code] += 1

    def refuse(self, code: str) -> None:
        self.refused[code] += 1

    @property
    def decided(self) -> int:
        return self.outcomes.total()

    @property
    def rate(self) -> float:
        """Decisions per second of the engine's time."""
        return self.decided / self.engine_seconds if self.engine_seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "events": self.decided,
            "refused": dict(self.refused),
            "passed_over": self.notes.passed_over,
            "cut": self.notes.cut,
            "backward": self.notes.backward,
            "first_at": self.notes.span[0] if self.notes.span else None,
            "last_at": self.notes.span[1] if self.notes.span else None,
            "seconds": round(self.seconds, 3),
            "engine_seconds": round(self.engine_seconds, 3),
            "events_per_second": round(self.rate),
            "outcomes": {outcome: self.outcomes[outcome] for outcome in OUTCOMES},
            "reasons": dict(sorted(self.reasons.items())),
            "clauses": [
                {"policy": policy, "clause": clause, "fired": self.fired[policy, clause],
                 "answered": self.answered[policy, clause]}
                for policy, clause in sorted(self.fired.keys() | self.answered.keys())
            ],
            "policies": [
                {"policy": policy}
                | {name: self.policies[policy, name] for name in COUNTED}
                | {"addresses": self._busiest(self.addresses, policy),
                   "paths": self._busiest(self.paths, policy)}
                for policy in sorted({policy for policy, _ in self.policies})
            ],
            "client_ip_problems": dict(sorted(self.client_problems.items())),
            "entities": self.left_out.entities() if self.left_out else [],
            "could_not_fire": self.left_out.could_not_fire() if self.left_out else [],
            "errors": [
                {"expression": place, "code": code, "events": number}
                for (place, code), number in sorted(self.errors.items())
            ],
        }  # fmt: skip

    def _busiest(self, counts: dict[str, Busiest], policy: str) -> list[dict[str, Any]]:
        found = counts[policy].most(self.shown) if policy in counts else []
        return [{"value": value, "events": number} for value, number in found]

    def print(self, console: Console) -> None:
        console.print(
            f"{counted(self.decided, 'event')}, {self.rate:,.0f} events/s;"
            f" {self.engine_seconds:.2f} s deciding of {self.seconds:.2f} s"
        )
        if self.notes.span is not None:
            console.print(f"from {self.notes.span[0]} to {self.notes.span[1]}")
        if self.notes.passed_over:
            console.print(passed_over_text(self.notes.passed_over))
        for code, number in self.refused.items():
            console.print(f"{number:,} refused: {code}", style="red")
        console.print(self._outcome_table())
        if self.fired or self.answered:
            console.print(self._clause_table())
        if self.addresses:
            console.print(self._busiest_table())
        if self.errors:
            console.print(self._error_table())
        if self.left_out is not None and self.decided:
            console.print(self._entity_table(self.left_out))
            for each in self.left_out.could_not_fire():
                text = f"policy {each['policy']} could not fire: {each['because']}"
                console.print(text, style="yellow", markup=False)

    def warnings(self) -> list[str]:
        """Warnings for the command's user, as sentences."""
        return [*self._of_clients(), *self._of_proxies()]

    def _of_proxies(self) -> Iterator[str]:
        if self.proxied:
            (busiest, number), *_ = self.proxied.most_common(1)
            yield (
                f"{self.proxied.total():,} events name several addresses, and `settings` has no"
                f" `trusted_proxies`: the last one counts as the client's, {busiest} in"
                f" {number:,} of them; if that is a proxy, name it there, or its visitors are one"
                " client"
            )

    def _of_clients(self) -> Iterator[str]:
        yield from (
            f"events without an address of the client: {number:,}; no policy about it applies:"
            f" {PROBLEMS[problem]} ({problem}; the first event is {self.first_problem})"
            for problem, number in self.client_problems.most_common()
        )

    @staticmethod
    def _entity_table(left_out: LeftOut) -> Table:
        from rich.text import Text

        table = Table("entity", _right("applied to"), _right("not to"), "because")
        for each in left_out.entities():
            looked, number = each["looked_at"], each["not_applied"]
            share = "" if looked == number else f" of {looked:,} looked at"
            why = [f"{found['reason']}: {found['events']:,}{share}" for found in each["why"]]
            table.add_row(
                each["entity"], f"{each['applied']:,}", f"{number:,}", Text("\n".join(why))
            )
        return table

    def _outcome_table(self) -> Table:
        table = Table("outcome", _right("events"), _right("share"))
        for outcome in OUTCOMES:
            number = self.outcomes[outcome]
            share = number / self.decided if self.decided else 0.0
            table.add_row(outcome, f"{number:,}", f"{share:.1%}")
        return table

    def _clause_table(self) -> Table:
        table = Table("policy", "clause", _right("fired"), _right("answered"))
        for key in sorted(self.fired.keys() | self.answered.keys()):
            table.add_row(*key, f"{self.fired[key]:,}", f"{self.answered[key]:,}")
        return table

    def _busiest_table(self) -> Table:
        from rich.text import Text

        table = Table("policy", "busiest", "value", _right("events"))
        for policy in sorted(self.addresses):
            for kind, counts in (("address", self.addresses), ("path", self.paths)):
                for value, number in counts[policy].most(self.shown):
                    table.add_row(policy, kind, Text(visible(value)), f"{number:,}")
        return table

    def _error_table(self) -> Table:
        table = Table("expression", "error", _right("events"))
        for (place, code), number in sorted(self.errors.items()):
            table.add_row(place, code, f"{number:,}")
        return table


def passed_over_text(number: int) -> str:
    """How many lines aren't about requests, as a sentence."""
    verb = "isn't" if number == 1 else "aren't"
    return f"{counted(number, 'line')} {verb} about requests"


def visible(value: str, length: int = _SHOWN) -> str:
    """A text that a visitor chose, shortened and without control characters."""
    return value[:length].encode("unicode_escape").decode() or "-"


def _right(header: str) -> Any:
    from rich.table import Column

    return Column(header, justify="right")
