"""The nouns of SCRAM logins (KIP-554)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.model.quoting import quoted


class Mechanism(StrEnum):
    """How a password is proven without being sent."""

    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True, order=True)
class Credential:
    """What a cluster keeps of one user's password for one mechanism; nobody can read it back."""

    user: str
    mechanism: Mechanism

    def __str__(self) -> str:
        return f"{quoted(self.user)} ({self.mechanism})"
