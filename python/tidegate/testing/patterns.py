"""Generated regular expressions, all within the accepted subset and with at most one group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.testing.choices import happens, pick

if TYPE_CHECKING:
    from tidegate.testing.choices import Choices

_ATOMS = (
    "a", "b", "/", ".", "[a-z]", "[^a]", r"\w", r"\d", r"\s", r"\W", r"\.", "k", "é", "ß", "^", "$",
    r"\b", r"\B", r"\A", r"\z", "", "(?i:k)", "(?i:s)", "(?m:^)", "(?m:$)", "(?s:.)", "[[:alpha:]]",
    r"\pL", r"\PL", r"[\w.-]", r"\x{1F600}", "(?i:[^k])",
)  # fmt: skip
_REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,3}?", "{2,}")


def pattern(choices: Choices, depth: int = 3) -> str:
    """A pattern; occasionally it begins with flags or has a capturing group."""
    flags = pick(choices, ("", "", "(?i)", "(?U)", "(?sm)"))
    text = _make(choices, depth)
    return f"{flags}({text}){_make(choices, 1)}" if happens(choices, 40) else flags + text


def _make(choices: Choices, depth: int) -> str:
    if depth <= 0 or happens(choices, 30):
        return pick(choices, _ATOMS)
    parts = [_make(choices, depth - 1) for _ in range(2)]
    match choices.below(3):
        case 0:
            return "".join(parts)
        case 1:
            return f"(?:{'|'.join(parts)})"
        case _:
            return f"(?:{parts[0]}){pick(choices, _REPEATS)}"
