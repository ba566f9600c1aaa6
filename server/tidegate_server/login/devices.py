"""Devices that operators have logged in from with their password.

A login leaves a sealed cookie on its device. A login with the cookie isn't affected by other
people's wrong passwords, neither from its address nor those that slow the name down everywhere.
Wrong passwords from the device itself count against the device only. The server stores nothing.

The idea is OWASP's (Slow Down Online Guessing Attacks with Device Cookies).
"""

from __future__ import annotations

import secrets

import attrs

from tidegate_server.login.sealed_cookies import InvalidCookieError, SealedCookie

LIFETIME_SECONDS = 90 * 86_400
"""Counted from the last login."""
MOST_NAMES = 8
"""Operators who share a device; the one with the oldest login is forgotten."""
_PURPOSE = b"tidegate-device-v1"
_NAME = "tidegate_device"


@attrs.frozen(kw_only=True)
class Device:
    """A device.

    Attributes:
        device_id: random; identifies it.
        names: the names that logged in from it, latest first, in the form that logins are counted
            by.
        until: seconds since 1970.
    """

    device_id: str
    names: tuple[str, ...]
    until: int

    @property
    def client(self) -> str:
        """The caller that limits count: one for all devices of the operator who logged in last.

        So logging in from many devices gives nobody a larger share.
        """
        return f"device of {self.names[0]}"

    def attempts_of(self, name: str) -> str | None:
        """Return the party that a name's wrong passwords count against; None for unknown names."""
        return f"device {self.device_id}" if name in self.names else None


class DeviceCookie:
    """Creates and reads the cookie of a device.

    Args:
        secret: the secret of the data directory's key material.
    """

    def __init__(self, secret: bytes) -> None:
        self._cookie = SealedCookie(secret, _PURPOSE, _NAME, Device)

    def open(self, header: str | None, base_url: str, now: int) -> Device | None:
        """Return the device of a browser; None if it is unknown, or no longer known.

        Args:
            header: the browser's cookies.
            base_url: the server's.
            now: seconds since 1970.
        """
        try:
            found = self._cookie.open(header, base_url)
        except InvalidCookieError:
            return None
        return found if found.names and found.until > now else None

    def set(self, device: Device | None, name: str, base_url: str, now: int) -> str:
        """Return the header that stores the device in the browser after a login.

        Args:
            device: the device that the browser sent, or None for a new one.
            name: the name that logged in.
            base_url: the server's.
            now: seconds since 1970.
        """
        before = () if device is None else device.names
        kept = Device(
            device_id=secrets.token_urlsafe(16) if device is None else device.device_id,
            names=(name, *(each for each in before if each != name))[:MOST_NAMES],
            until=now + LIFETIME_SECONDS,
        )
        return self._cookie.set(kept, base_url, LIFETIME_SECONDS, "HttpOnly; SameSite=Strict")
