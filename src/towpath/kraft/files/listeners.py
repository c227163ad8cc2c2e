"""Addresses at which controllers reach brokers, from the brokers' properties. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.settings.address import host_and_port

INTER_LISTENER = "inter.broker.listener.name"
INTER_PROTOCOL = "security.inter.broker.protocol"
_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104, what a listener may be bound to


def inter_listener(properties: Mapping[str, str]) -> str:
    """Return the name of the inter-broker listener, which controllers also use."""
    return properties.get(INTER_LISTENER, properties.get(INTER_PROTOCOL, "PLAINTEXT"))


def inter_broker_address(properties: Mapping[str, str], address: str) -> str | None:
    """Return HOST:PORT at which other brokers and controllers reach a broker.

    Args:
        properties: Its properties, in ZooKeeper mode.
        address: Where clients reach it, whose host is taken where its listener names none.

    Returns:
        None where the properties have no such listener.
    """
    name = inter_listener(properties)
    for key in ("advertised.listeners", "listeners"):
        for each in properties.get(key, "").split(","):
            listener, there, at = each.strip().partition("://")
            if there and listener == name:
                return _with_host(at, host_and_port(address)[0])
    return None


def _with_host(at: str, other: str) -> str | None:
    host, _, port = at.rpartition(":")
    if not port.isdecimal():
        return None
    known = other if host.strip("[]") in _EVERYWHERE else host.strip("[]")
    return f"[{known}]:{port}" if ":" in known else f"{known}:{port}"
