"""The nonces that signatures used, each key's for itself, in bounded memory.

A nonce may be used once.  Only this process knows the nonces that it saw, so a signature with a
nonce that was made before it began to look isn't accepted: it may have been used elsewhere.  The
same holds once a key has used so many that the oldest are forgotten.
"""

from __future__ import annotations

from hashlib import blake2b

import attrs

MOST = 8_192
"""Nonces of a key in one of its two generations."""
MOST_KEYS = 1_024
"""Keys whose nonces are known; with more, all are forgotten."""


@attrs.define
class _OfKey:
    since: int
    young: dict[bytes, tuple[int, bytes]] = attrs.field(factory=dict)
    old: dict[bytes, tuple[int, bytes]] = attrs.field(factory=dict)

    def find(self, nonce: bytes) -> tuple[int, bytes] | None:
        return self.young.get(nonce) or self.old.get(nonce)

    def add(self, nonce: bytes, created: int, call: bytes) -> None:
        if len(self.young) >= MOST:
            forgotten = max((at for at, _ in self.old.values()), default=0)
            self.since = max(self.since, forgotten + 1)
            self.old, self.young = self.young, {}
        self.young[nonce] = (created, call)


@attrs.define
class Nonces:
    """The nonces that were used at one place, such as the decisions of a tenant.

    Attributes:
        since: seconds since 1970 from which on every use is known, by the clocks of signers.
    """

    since: int
    _keys: dict[str, _OfKey] = attrs.field(factory=dict, init=False)

    def use(self, key_id: str, nonce: str, created: int, call: str, now: int) -> bool:
        """Use a nonce; tell whether it is the first time.

        Args:
            key_id: of the signature.
            nonce: of the signature.
            created: when the signature was made, in seconds since 1970.
            call: the idempotency key of the call; the same call may come again. Empty without one.
            now: seconds since 1970 from which on uses are known if all were forgotten.
        """
        known = self._keys.get(key_id)
        if known is None:
            if len(self._keys) >= MOST_KEYS:
                self._keys.clear()
                self.since = max(self.since, now)
            known = self._keys[key_id] = _OfKey(self.since)
        digest = _digest(nonce)
        named = _digest(call) if call else b""
        found = known.find(digest)
        if found is not None:
            return bool(named) and found[1] == named
        if created < known.since:
            return False
        known.add(digest, created, named)
        return True


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
