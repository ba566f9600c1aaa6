"""Tidegate decides what to do with web traffic: allow, challenge or block.

The layers, each knowing only the previous ones: ``language`` parses expressions, ``functions`` has
the functions they can call, ``evaluation`` runs them, ``policy`` combines them into a decision,
``Engine`` keeps the state between decisions.

``Client`` and ``AsyncClient`` ask a running service instead.

Everything is imported on first use: the command prints its help, and a program starts, without
loading the engine.
"""

import typing

if typing.TYPE_CHECKING:
    from tidegate._public import *  # noqa: F403
    from tidegate._public import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        if name.startswith("_") and name not in ("__all__", "__version__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from tidegate import _public

        value = globals()[name] = getattr(_public, name)
        return value

    def __dir__() -> list[str]:
        from tidegate import _public

        return sorted({*globals(), *_public.__all__})
