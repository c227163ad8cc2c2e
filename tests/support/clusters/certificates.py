"""Certificates for brokers and clients on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A key and its certificate, as PEM files."""

    key: Path
    certificate: Path

    @property
    def both(self) -> Path:
        """The file with key and certificate, as brokers want it."""
        return self.certificate.with_suffix(".pem")


class Authority:
    """A certificate authority whose certificates lie in a folder, its own as `ca.crt`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._ca = folder, trustme.CA()
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "ca.crt"
        self._ca.cert_pem.write_to_path(self.certificate)

    def issue(self, name: str, days: int = 3650, *hosts: str) -> Certificate:
        """Return a certificate for localhost whose common name is `name`.

        Args:
            name: Common name, and the name of the files.
            days: How long it is valid; -1 makes one that has expired.
            *hosts: Further hosts that it is for.
        """
        end = datetime.now(UTC) + timedelta(days=days)
        issued = self._ca.issue_cert(
            "localhost", "127.0.0.1", *hosts, common_name=name, not_after=end
        )
        made = Certificate(*(self._folder / f"{name}.{end}" for end in ("key", "crt")))
        # Brokers read PKCS 8 alone.
        key = load_pem_private_key(issued.private_key_pem.bytes(), None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
        made.key.write_bytes(key)
        made.certificate.write_bytes(chain)
        made.both.write_bytes(key + chain)
        return made


@dataclass(frozen=True)
class Vault:
    """Certificates: a good one for brokers and clients, an expired one, and one of strangers.

    Attributes:
        ca: The authority that both sides trust.
        other_ca: The authority of the strangers.
    """

    ca: Path
    broker: Certificate
    client: Certificate
    expired: Certificate
    other_ca: Path
    stranger: Certificate

    @classmethod
    def make(cls, folder: Path) -> Vault:
        """Make all of them in a folder."""
        authority, others = Authority(folder), Authority(folder / "elsewhere")
        return cls(
            authority.certificate,
            authority.issue("broker"),
            authority.issue("client"),
            authority.issue("expired", days=-1),
            others.certificate,
            others.issue("stranger"),
        )
