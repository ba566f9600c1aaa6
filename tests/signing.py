"""An agent that signs its requests (RFC 9421, Web Bot Auth), as its operator's program would."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256

import attrs
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

WELL_KNOWN = "/.well-known/http-message-signatures-directory"
COMPONENTS = ("@authority", "@method", "@path", "signature-agent")


@attrs.frozen
class Agent:
    """An agent with a key.

    Attributes:
        origin: the origin that publishes the key.
        key: the key.
    """

    origin: str = "https://agent.example"
    key: Ed25519PrivateKey = attrs.field(factory=Ed25519PrivateKey.generate)

    @property
    def entry(self) -> str:
        """The public key, as RFC 7638 writes it."""
        x = urlsafe_b64encode(self.key.public_key().public_bytes_raw()).rstrip(b"=").decode()
        return json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"))

    @property
    def directory(self) -> bytes:
        """The document that its operator publishes."""
        return json.dumps({"keys": [json.loads(self.entry)]}).encode()

    @property
    def key_id(self) -> str:
        """The thumbprint of the key."""
        return urlsafe_b64encode(sha256(self.entry.encode()).digest()).rstrip(b"=").decode()

    @property
    def named_list(self) -> dict[str, object]:
        """A list of a tenant that accepts the agent."""
        source = {"url": self.origin + WELL_KNOWN, "format": "keys"}
        return {"name": "Shopper", "kind": "string", "entries": [self.entry], "source": source}

    def headers(
        self,
        *,
        authority: str,
        created: int,
        expires: int | None = None,
        nonce: str | None = None,
        method: str = "GET",
        path: str = "/",
        components: Sequence[str] = COMPONENTS,
        others: Mapping[str, str] | None = None,
        **params: str,
    ) -> Mapping[str, str]:
        """The headers that a request is signed with.

        Args:
            authority: host and port of the request.
            created: seconds since 1970; a minute later it expires, by default.
            components: the names that the signature covers.
            others: values of other components.
            params: other parameters of the signature, and ``tag`` and ``keyid`` in their place.
        """
        values = {
            "@authority": authority, "@method": method, "@path": path,
            "signature-agent": f'"{self.origin}"', **(others or {}),
        }  # fmt: skip
        written = {"signature-agent": '"signature-agent";key="sig"'}
        names = [written.get(each, f'"{each}"') for each in components]
        texts = {"keyid": self.key_id, "alg": "ed25519", "tag": "web-bot-auth", **params}
        if nonce is not None:
            texts["nonce"] = nonce
        end = created + 60 if expires is None else expires
        more = "".join(f';{name}="{value}"' for name, value in texts.items())
        signed = f"({' '.join(names)});created={created};expires={end}{more}"
        lines = [f"{name}: {values[each]}" for name, each in zip(names, components, strict=True)]
        base = "\n".join([*lines, f'"@signature-params": {signed}'])
        signature = b64encode(self.key.sign(base.encode())).decode()
        return {
            "signature-input": f"sig={signed}",
            "signature": f"sig=:{signature}:",
            "signature-agent": f'sig="{self.origin}"',
        }
