"""Devices that operators have logged in from with their password.

A login leaves a sealed cookie on its device. Wrong passwords of others do not count against a login
that shows it: neither those from the same address nor those that slow down the name everywhere.
Wrong passwords from the device itself count, for the device alone. The server keeps nothing.

The idea is OWASP's (Slow Down Online Guessing Attacks with Device Cookies).
"""

from __future__ import annotations

import secrets

import attrs

from tidegate.server.login.sealed_cookies import InvalidCookieError, SealedCookie

LIFETIME_SECONDS = 90 * 86_400
"""Counted from the last login."""
MOST_NAMES = 8
"""Operators who share a device; the one who logged in longest ago is forgotten."""
_PURPOSE = b"tidegate-device-v1"
_NAME = "tidegate_device"


@attrs.frozen(kw_only=True)
class Device:
    """A device.

    Attributes:
        device_id: random; tells it from others.
        names: that logged in from it, the last one first, as logins are counted by.
        until: seconds since 1970.
    """

    device_id: str
    names: tuple[str, ...]
    until: int

    @property
    def client(self) -> str:
        """The caller that limits count: all devices of the operator who logged in last are one, so
        logging in from many gives nobody a larger share."""
        return f"device of {self.names[0]}"

    def attempts_of(self, name: str) -> str | None:
        """The party whose wrong passwords for a name count; None where the name is a stranger."""
        return f"device {self.device_id}" if name in self.names else None


class DeviceCookie:
    """Makes and reads the cookie of a device.

    Args:
        secret: of the key material of the data directory.
    """

    def __init__(self, secret: bytes) -> None:
        self._cookie = SealedCookie(secret, _PURPOSE, _NAME, Device)

    def open(self, header: str | None, base_url: str, now: int) -> Device | None:
        """The device of a browser; None where it isn't known, or not for long enough.

        Args:
            header: the cookies of the browser.
            base_url: of the server.
            now: seconds since 1970.
        """
        try:
            found = self._cookie.open(header, base_url)
        except InvalidCookieError:
            return None
        return found if found.names and found.until > now else None

    def set(self, device: Device | None, name: str, base_url: str, now: int) -> str:
        """The header that has a browser keep its device, or a new one, after a login.

        Args:
            device: that the browser showed.
            name: that logged in.
            base_url: of the server.
            now: seconds since 1970.
        """
        before = () if device is None else device.names
        kept = Device(
            device_id=secrets.token_urlsafe(16) if device is None else device.device_id,
            names=(name, *(each for each in before if each != name))[:MOST_NAMES],
            until=now + LIFETIME_SECONDS,
        )
        return self._cookie.set(kept, base_url, LIFETIME_SECONDS, "HttpOnly; SameSite=Strict")
