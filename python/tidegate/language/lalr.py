"""LALR parsing of texts that are right, over the tables of the parser library.

The library's loop takes twice as long: it compares symbols by methods of theirs, several times
a token. It is still the one that recovers from what is wrong with a text, and explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

if TYPE_CHECKING:
    from tidegate.language.tree_builder import Token

Reduction: TypeAlias = tuple[int, Callable[[list[Any]], Any], str]
"""How many values become one, what makes it of them, and the symbol that it is."""

Action: TypeAlias = int | Reduction
"""The state that follows, or what comes before that."""

_START = "start"
_END = "$END"


class UnexpectedSymbolError(Exception):
    """A token cannot stand where it stands."""


@attrs.frozen
class Tables:
    """What to do in each state with each symbol."""

    actions: Mapping[int, Mapping[str, Action]]
    start: int
    end: int

    @classmethod
    def of(cls, parser: Any) -> Tables:
        """Those of the library's parser of one grammar, whose rules are called back."""
        table, callbacks = parser.parse_table, parser.callbacks

        def action(argument: Any) -> Action:
            if isinstance(argument, int):
                return argument
            return len(argument.expansion), callbacks[argument], str(argument.origin.name)

        actions = {
            state: {str(symbol): action(argument) for symbol, (_, argument) in symbols.items()}
            for state, symbols in table.states.items()
        }
        return cls(actions, table.start_states[_START], table.end_states[_START])

    def parse(self, tokens: Iterable[Token]) -> Any:
        """What the rules make of all tokens.

        Raises:
            UnexpectedSymbolError: they are no sentence of the grammar.
        """
        states, values = [self.start], list[Any]()
        for token in tokens:
            states.append(self._reduced(states, values, token.type))
            values.append(token)
        self._reduced(states, values, _END)
        return values[-1]

    def _reduced(self, states: list[int], values: list[Any], symbol: str) -> int:
        """Reduce until a symbol can be taken; gives the state that follows then."""
        actions = self.actions
        while True:
            action = actions[states[-1]].get(symbol)
            if isinstance(action, int):
                return action
            if action is None:
                if symbol == _END and states[-1] == self.end:
                    return self.end
                raise UnexpectedSymbolError
            size, make, name = action
            parts = values[len(values) - size :]
            if size:
                del states[-size:], values[-size:]
            values.append(make(parts))
            states.append(actions[states[-1]][name])  # type: ignore[arg-type]
