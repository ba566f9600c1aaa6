"""Mutual TLS between nodes, with one certificate derived from the shared keys.

Every node derives the same certificate from the same keys, byte for byte, presents it, and accepts
no other. So only nodes with the data directory's keys can connect, and nobody on the network can
read their traffic.
"""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_PURPOSE = b"tidegate-node-link-v1"
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tidegate node")])
_FROM, _TO = datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


def contexts(secret: bytes) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the TLS contexts for listening and for calling other nodes.

    Args:
        secret: the secret of the key material that all nodes share.
    """
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret)
    key = Ed25519PrivateKey.from_private_bytes(derived)
    made = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(_FROM)
        .not_valid_after(_TO)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, None)
    )
    certificate = made.public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    calling = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    calling.check_hostname = False  # The key authenticates; addresses are the database's.
    # OpenSSL reads its own certificates only from files.
    with tempfile.TemporaryDirectory(prefix="tidegate-node-") as directory:
        path = Path(directory) / "node.pem"
        path.touch(mode=0o600)
        path.write_bytes(private + certificate)
        for context in (listening, calling):
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_cert_chain(path)
            context.load_verify_locations(cadata=certificate.decode())
    return listening, calling
