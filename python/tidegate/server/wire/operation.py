"""Health."""

from __future__ import annotations

from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class Health:
    status: Literal["ok", "ready"]
