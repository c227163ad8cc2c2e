"""Values of client quotas (KIP-546, KIP-612, KIP-599)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.model.quoting import quoted


class EntityKind(StrEnum):
    """The kinds of quota entities: user, client id, or IP."""

    USER = "user"
    CLIENT_ID = "client-id"
    IP = "ip"


class QuotaKey(StrEnum):
    """The limits that a quota can set."""

    PRODUCER_BYTE_RATE = "producer_byte_rate"
    CONSUMER_BYTE_RATE = "consumer_byte_rate"
    REQUEST_PERCENTAGE = "request_percentage"
    CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
    CONNECTION_CREATION_RATE = "connection_creation_rate"


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity of a quota; without a name, the default for entities without their own."""

    kind: EntityKind
    name: str | None

    def __str__(self) -> str:
        return f"default {self.kind}" if self.name is None else f"{self.kind} {quoted(self.name)}"


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit of a quota; the text of the value identifies it.

    Attributes:
        entities: For whom: a user, a client id, both in this order, or an address.
        key: What is limited.
    """

    entities: tuple[Entity, ...]
    key: QuotaKey

    def __str__(self) -> str:
        return f"{' with '.join(map(str, self.entities))}: {self.key}"
