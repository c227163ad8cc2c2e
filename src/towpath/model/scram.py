"""Values of SCRAM logins (KIP-554)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.model.quoting import quoted


class Mechanism(StrEnum):
    """The SCRAM mechanisms."""

    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True, order=True)
class Credential:
    """A user's SCRAM credential for one mechanism; its password cannot be read back."""

    user: str
    mechanism: Mechanism

    def __str__(self) -> str:
        return f"{quoted(self.user)} ({self.mechanism})"
