"""Canonical forms of values that are read from both stores, with secrets as digests.

Secrets become digests, so that two stores can be compared without printing or keeping a secret.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from uuid import UUID

from towpath.kraft.facts.image import Scram, Token
from towpath.model.quota import Entity, EntityKind

SECRET_CONFIGS = (
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
    "sasl.jaas.config",
)
"""Ends of the names of dynamic configs that hold secrets (`DynamicBrokerConfig.isPasswordConfig`).

ZooKeeper holds their values encrypted with `password.encoder.secret`, the metadata log holds them
in plain text."""

ENCODED = "(encoded)"
"""What an image holds of a password that ZooKeeper holds encoded. The encoding has a random salt,
so nobody without the brokers' `password.encoder.secret` can compare it with the one in the log."""

_OTHER_SECRETS = re.compile(r"password|secret", re.IGNORECASE)
_LENGTH = 4
_ENTITY_ORDER = {kind: place for place, kind in enumerate(EntityKind)}


def is_secret(key: str) -> bool:
    """Return whether a dynamic config holds a secret; a prefix `listener.name.` is ignored.

    Those of plugins, which Kafka does not encode, are told by their name.
    """
    return key.endswith(SECRET_CONFIGS) or _OTHER_SECRETS.search(key) is not None


def digest(*parts: bytes) -> str:
    """Return a SHA-256 digest in hex over several parts; the split into parts matters."""
    summed = hashlib.sha256()
    for part in parts:
        summed.update(len(part).to_bytes(_LENGTH, "big") + part)
    return summed.hexdigest()


def value_or_digest(key: str, value: str) -> str:
    """Return a dynamic config's value, or the digest of a secret one.

    Args:
        key: Name of the config.
        value: Its value, decrypted.
    """
    return digest(value.encode()) if is_secret(key) else value


def scram(iterations: int, salt: bytes, stored_key: bytes, server_key: bytes) -> Scram:
    """Return a SCRAM credential with a digest in place of its salt and keys."""
    return Scram(iterations, digest(salt, stored_key, server_key))


def token(
    owner: str, requester: str, renewers: Iterable[str], times: tuple[int, int, int]
) -> Token:
    """Return a delegation token.

    Args:
        owner: Principal, as `User:name`.
        requester: Principal; the owner where none is told, as Kafka takes it.
        renewers: Principals; their order means nothing.
        times: When it was issued, when it expires unless renewed, until when it can be renewed; in
            ms since 1970.
    """
    return Token(owner, requester or owner, tuple(sorted(renewers)), *times)


def topic_id(number: UUID) -> str:
    """Return the id of a topic as Kafka writes it: 22 letters of URL-safe base 64."""
    return base64.urlsafe_b64encode(number.bytes).decode().rstrip("=")


def in_order(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """Return the entities of a quota in the order of an image: user, client id, address."""
    return tuple(sorted(entities, key=lambda entity: _ENTITY_ORDER[entity.kind]))
