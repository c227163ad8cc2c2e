"""Every kind of quota, and what each limits: for clusters whose quotas change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from towpath.model.quota import Entity, EntityKind, QuotaKey

_Whose = tuple[Entity, ...]


def _user(number: int | None) -> Entity:
    return Entity(EntityKind.USER, None if number is None else f"u{number}")


def _client(number: int | None) -> Entity:
    return Entity(EntityKind.CLIENT_ID, None if number is None else f"c{number}")


QUOTA_KINDS: Mapping[str, tuple[Callable[[int], _Whose], QuotaKey]] = MappingProxyType(
    {
        "user": (lambda n: (_user(n),), QuotaKey.PRODUCER_BYTE_RATE),
        "users": (lambda _: (_user(None),), QuotaKey.CONSUMER_BYTE_RATE),
        "client": (lambda n: (_client(n),), QuotaKey.CONTROLLER_MUTATION_RATE),
        "clients": (lambda _: (_client(None),), QuotaKey.REQUEST_PERCENTAGE),
        "user and client": (lambda n: (_user(n), _client(n)), QuotaKey.CONSUMER_BYTE_RATE),
        "user and clients": (lambda n: (_user(n), _client(None)), QuotaKey.PRODUCER_BYTE_RATE),
        "users and client": (lambda n: (_user(None), _client(n)), QuotaKey.PRODUCER_BYTE_RATE),
        "users and clients": (
            lambda _: (_user(None), _client(None)),
            QuotaKey.REQUEST_PERCENTAGE,
        ),
        "address": (
            lambda n: (Entity(EntityKind.IP, f"10.0.0.{n}"),),
            QuotaKey.CONNECTION_CREATION_RATE,
        ),
        "addresses": (
            lambda _: (Entity(EntityKind.IP, None),),
            QuotaKey.CONNECTION_CREATION_RATE,
        ),
    }
)
"""Whose quota it is, made from a number, and its key; rates are so high that nobody waits."""
