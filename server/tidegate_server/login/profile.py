"""The outcome of a login at a provider: a profile, or a refusal."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from tidegate.errors import TidegateError

Fault: TypeAlias = Literal["refused", "cancelled", "expired", "unavailable", "not-invited"]
"""The page's text for a failed login; only the log has the reason."""


@attrs.frozen(kw_only=True)
class Profile:
    """The person who logged in, as the provider knows them.

    Attributes:
        email: an address that the provider has verified; None if there isn't one.
    """

    issuer: str
    subject: str
    email: str | None
    name: str | None


class LoginRefusedError(TidegateError):
    """A login failed. The message is for the log, and contains no outside data."""

    code = "login-refused"

    def __init__(self, reason: str, fault: Fault = "refused") -> None:
        super().__init__(reason)
        self.fault: Fault = fault
