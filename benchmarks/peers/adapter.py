"""The interface of an engine that is measured."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.traffic.workload import Event, Rule

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Forms(Generic[Answer]):
    """One compiled thing in the ways it can be asked.

    ``prepare`` and ``from_prepared`` are None when the engine cannot read an event once and
    use it many times.
    """

    from_dict: Callable[[Event], Answer]
    from_bytes: Callable[[bytes], Answer]
    prepare: Callable[[Event], Any] | None = None
    from_prepared: Callable[[Any], Answer] | None = None


class RefusedError(Exception):
    """The engine does not take a rule, or its language cannot say it."""


class Adapter(ABC):
    """An engine. Adapters of engines that are not installed fail to import."""

    name: ClassVar[str]
    distribution: ClassVar[str | None] = None
    """The package on whose version the row stands; None for what is not a package."""

    @property
    def label(self) -> str:
        """Name and version."""
        if self.distribution is None:
            return self.name
        try:
            return f"{self.name} {version(self.distribution)}"
        except PackageNotFoundError:
            return self.name

    @abstractmethod
    def check(self, rule: Rule) -> None:
        """Compile one rule alone.

        Raises:
            RefusedError: the engine does not take it.
        """

    @abstractmethod
    def expression(self, rule: Rule) -> Forms[bool]:
        """One rule; an error counts as not holding."""

    @abstractmethod
    def rule_set(self, rules: Sequence[Rule]) -> Forms[list[str]]:
        """Rules that :meth:`check` took; the answer is the ids of those that hold."""


class OneByOne(Adapter):
    """An engine without rule sets: rules are evaluated one after the other.

    The event is prepared once for all of them where the engine allows it, so that a set is
    not charged for reading the event again and again.
    """

    prepares: ClassVar[bool] = False

    def __init__(self) -> None:
        self._compiled: dict[str, Callable[[Any], bool]] = {}

    @abstractmethod
    def compile(self, rule: Rule) -> Callable[[Any], bool]:
        """A function of the prepared event; raises RefusedError."""

    def prepare(self, event: Event) -> Any:
        """The input of compiled rules; the event itself unless overridden."""
        return event

    def check(self, rule: Rule) -> None:
        self._holds(rule)

    def expression(self, rule: Rule) -> Forms[bool]:
        holds, prepare = self._holds(rule), self.prepare
        if not self.prepares:
            return Forms(holds, lambda text: holds(orjson.loads(text)))
        return Forms(
            from_dict=lambda event: holds(prepare(event)),
            from_bytes=lambda text: holds(prepare(orjson.loads(text))),
            prepare=prepare,
            from_prepared=holds,
        )

    def rule_set(self, rules: Sequence[Rule]) -> Forms[list[str]]:
        compiled = [(rule.rule_id, self._holds(rule)) for rule in rules]
        prepare = self.prepare

        def match(prepared: Any) -> list[str]:
            return [rule_id for rule_id, holds in compiled if holds(prepared)]

        return Forms(
            from_dict=lambda event: match(prepare(event)),
            from_bytes=lambda text: match(prepare(orjson.loads(text))),
            prepare=prepare,
            from_prepared=match,
        )

    def _holds(self, rule: Rule) -> Callable[[Any], bool]:
        if rule.expression not in self._compiled:
            self._compiled[rule.expression] = self.compile(rule)
        return self._compiled[rule.expression]


@dataclass(frozen=True)
class Missing:
    """An engine that cannot be measured here, and why."""

    name: str
    reason: str


MODULES = (
    ("tidegate", "tidegate_native"),
    ("tidegate reference", "tidegate_reference"),
    ("Python lambda", "python_lambda"),
    ("common-expression-language", "common_expression_language"),
    ("cel-expr-python", "cel_expr_python"),
    ("cel-python", "cel_python"),
    ("cedarpy", "cedarpy"),
    ("rule-engine", "rule_engine"),
    ("zen-engine", "zen_engine"),
)
"""Names of engines and the modules of this package that adapt them, in table order."""


def load_adapters() -> tuple[list[Adapter], list[Missing]]:
    """The engines installed here, and those that are not."""
    adapters: list[Adapter] = []
    missing: list[Missing] = []
    for name, module in MODULES:
        try:
            adapters.append(importlib.import_module(f"benchmarks.peers.{module}").ADAPTER())
        except ImportError as error:
            missing.append(Missing(name, f"not installed ({error})"))
    return adapters, missing
