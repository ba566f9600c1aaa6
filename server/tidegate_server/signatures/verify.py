"""Verifies the signatures of agents (draft-ietf-webbotauth-httpsig-protocol, 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate_server.signatures.message import (
    Component,
    Message,
    UnverifiableError,
    dictionary,
    written,
)

if TYPE_CHECKING:
    from tidegate_server.signatures.directory import Directories, Directory, PublicKey

TAG = "web-bot-auth"
MOST_SIGNATURES = 2
"""Signatures of a request that are verified, so that no visitor can cause many verifications."""
SKEW_SECONDS = 10
"""How far ahead the clock of a signer may be."""
_AGENT = "signature-agent"
_REQUIRED = {"created": int, "expires": int, "keyid": str}

Uses: TypeAlias = Callable[[str, str, int], bool]
"""Uses a nonce, by the key, the nonce and the time of its signature in seconds since 1970; tells
whether it is the first time."""


@attrs.frozen
class _Signature:
    """One signature of the profile, with its claims about itself."""

    components: Sequence[Component]
    params: Mapping[str, Any]
    sent: str | None
    """Components and parameters as they were sent, if they came alone."""
    value: bytes

    def verifies(self, key: PublicKey, message: Message) -> bool:
        """Tell whether a key made this signature of a message.

        Nearly every signer sends the form that it signed, which is tried first, because the
        serialization takes long.
        """
        if self.sent is not None and self._verifies(key, message, self.sent):
            return True
        text = written((self.components, self.params))
        return text != self.sent and self._verifies(key, message, text)

    def _verifies(self, key: PublicKey, message: Message, text: str) -> bool:
        return key.verifies(self.value, message.base(self.components, text))


def find(
    message: Message, directories: Directories, now: float, uses: Uses
) -> dict[str, str] | None:
    """Return what is found of a request's signatures, as the member ``agent`` of an event.

    Args:
        message: the request.
        directories: the keys that are accepted.
        now: seconds since 1970.
        uses: called for the nonce of a signature that is verified.

    Returns:
        None if the request has no signature of the profile.
    """
    problem = None
    try:
        for signature in _signatures(message):
            try:
                directory = _verified(message, signature, directories, now)
                nonce = signature.params.get("nonce")
                if nonce is not None and not uses(
                    signature.params["keyid"], str(nonce), signature.params["created"]
                ):
                    raise UnverifiableError("replayed")
            except UnverifiableError as error:
                problem = problem or error.code
            else:
                return {"proof": "signature", **directory.agent}
    except UnverifiableError as error:
        problem = error.code
    except (TypeError, ValueError):
        problem = "unreadable"  # a value that can be read and not be written
    if problem is None:
        return None
    claims = _claimed(message)
    return {"signature_problem": problem} | ({"claims": claims} if claims else {})


def _claimed(message: Message) -> str:
    """Return the first agent that ``Signature-Agent`` names, as far as it can be read."""
    try:
        return next(iter(_agents(message).values()), "")
    except (TypeError, UnverifiableError, ValueError):
        return ""


def _signatures(message: Message) -> Sequence[_Signature]:
    """Return the first signatures of the profile.

    Raises:
        UnverifiableError: the headers can't be read.
    """
    text = message.header("signature-input")
    inputs = dictionary(text)
    values = dictionary(message.header("signature"))
    found = []
    for label, member in inputs.items():
        components, params = member
        if params.get("tag") != TAG or not isinstance(components, list):
            continue
        value, _ = values.get(label, (None, None))
        if not isinstance(value, bytes) or not all(isinstance(each, str) for each, _ in components):
            raise UnverifiableError("unreadable")
        sent = text.partition("=")[2] if len(inputs) == 1 else None
        found.append(_Signature(components, params, sent, value))
    return found[:MOST_SIGNATURES]


def _verified(
    message: Message, signature: _Signature, directories: Directories, now: float
) -> Directory:
    """Return the directory with the key that made a signature.

    Raises:
        UnverifiableError: the signature can't be verified, or it isn't of this request.
    """
    params = signature.params
    for name, kind in _REQUIRED.items():
        if type(params.get(name)) is not kind:
            raise UnverifiableError("missing-parameter")
    if params["created"] > now + SKEW_SECONDS:
        raise UnverifiableError("not-yet-valid")
    if params["expires"] <= now or params["expires"] <= params["created"]:
        raise UnverifiableError("expired")
    covered = {name for name, _ in signature.components}
    if not {"@authority", "@target-uri"} & covered:
        raise UnverifiableError("target-not-covered")
    directory = _directory(message, signature, directories)
    key = directory.keys.get(params["keyid"])
    if key is None:
        raise UnverifiableError("unknown-key")
    if params.get("alg", key.algorithm) != key.algorithm:
        raise UnverifiableError("unsupported-algorithm")
    if not signature.verifies(key, message):
        raise UnverifiableError("wrong-signature")
    return directory


def _directory(message: Message, signature: _Signature, directories: Directories) -> Directory:
    """Return the directory that a signature names, and covers; without one, its key's."""
    covered = [params for name, params in signature.components if name == _AGENT]
    if _AGENT not in message.headers:
        if covered:
            raise UnverifiableError("absent-component")
        having = directories.having(signature.params["keyid"])
        if len(having) != 1:
            raise UnverifiableError("several-directories" if having else "unknown-key")
        return having[0]
    agents = _agents(message)
    keys = [_key_of(each, agents) for each in covered]
    if len(keys) != 1:
        raise UnverifiableError("agent-not-covered")
    agent = agents.get(keys[0])
    if agent is None:
        raise UnverifiableError("absent-component")
    directory = directories.named(agent)
    if directory is None:
        raise UnverifiableError("unknown-agent")
    return directory


def _key_of(params: Mapping[str, Any], agents: Mapping[str, str]) -> str:
    """Return the member of ``Signature-Agent`` that a component covers."""
    if not params:
        # The whole header: earlier drafts, which had one agent.
        return next(iter(agents)) if len(agents) == 1 else ""
    return str(params.get("key", ""))


def _agents(message: Message) -> Mapping[str, str]:
    """Return the addresses in ``Signature-Agent``, by member; of earlier drafts, under ``""``.

    Raises:
        UnverifiableError: it can't be read, or an address isn't https.
    """
    text = message.headers.get(_AGENT, "")
    return _read_agents(text) if text else {}


@lru_cache(maxsize=256)
def _read_agents(text: str) -> Mapping[str, str]:
    if text.startswith('"'):
        members = dictionary(f"agent={text}")
        if len(members) != 1:
            raise UnverifiableError("unreadable")
    else:
        members = dictionary(text)
    found = {}
    for name, (value, params) in members.items():
        if params:
            continue  # the draft: a member with parameters is ignored
        if not isinstance(value, str) or not value.startswith("https://"):
            raise UnverifiableError("unreadable")
        found[name] = value
    return found
