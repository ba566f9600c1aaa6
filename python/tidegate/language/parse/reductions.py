"""Runs the parse tables that Lark makes of the grammar, for texts without a mistake.

Lark's own loop looks every reduction up by its rule, which takes most of its time. The tables and
the callbacks are the same, so the trees are the same. A text with a mistake is left to Lark, which
recovers and explains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.language.parse.tree_builder import Token

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.language.parse.tree_builder import TreeBuilder

_START = "start"
_SHIFT = "Shift"
_END = Token("$END", "", 0, 0)


class Misplaced(Exception):  # noqa: N818 - a text is refused by an ExpressionError, not by this
    """A token can't stand where it stands."""


class Reductions:
    """The parse tables of a grammar, with a callback for each rule.

    Args:
        lark: the LALR parser of the grammar.
        builder: its callbacks, by the aliases of rules.
    """

    def __init__(self, lark: Any, builder: TreeBuilder) -> None:
        table = lark.parser.parser._parse_table
        self._first: int = table.start_states[_START]
        self._last: int = table.end_states[_START]
        # An action is the next state, or a reduction: how many parts, callback, and the next
        # states by the state before the parts.
        gotos: dict[str, dict[int, int]] = {}
        for state, actions in table.states.items():
            for name, (action, argument) in actions.items():
                if action.name == _SHIFT:
                    gotos.setdefault(name, {})[state] = argument
        self._actions: dict[int, dict[str, Any]] = {
            state: {
                name: argument if action.name == _SHIFT else _reduction(argument, builder, gotos)
                for name, (action, argument) in actions.items()
            }
            for state, actions in table.states.items()
        }

    def tree(self, tokens: Iterable[Token]) -> Any:
        """The tree of a text's tokens.

        Raises:
            Misplaced: a token can't stand there, or the text ends too early.
        """
        actions = self._actions
        states, values = [self._first], []
        for token in (*tokens, _END):
            while True:
                action = actions[states[-1]].get(token.type)
                if type(action) is int:
                    states.append(action)
                    values.append(token)
                    break
                if action is None:
                    if token is _END and states[-1] == self._last:
                        return values[-1]
                    raise Misplaced
                size, call, following = action
                if call is None:  # the value of its only part
                    del states[-1]
                elif size:
                    parts = values[-size:]
                    del states[-size:]
                    values[-size:] = (call(parts),)
                else:
                    values.append(call([]))
                states.append(following[states[-1]])
        raise Misplaced


def _reduction(rule: Any, builder: TreeBuilder, gotos: dict[str, dict[int, int]]) -> Any:
    size = len(rule.expansion)
    following = gotos.get(rule.origin.name, {})
    if rule.alias is None:
        assert size == 1
        assert rule.options.expand1
        return size, None, following
    return size, getattr(builder, rule.alias), following
