"""The environment of a cluster: networks, users of ZooKeeper, managers of files.

It is asked for by `check` alone, as nothing is planned from it and asking takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.kraft.facts.nouns import NodeId


class Reach(StrEnum):
    """The results of connecting to an address."""

    OPEN = "open"
    CLOSED = "closed"
    """It was refused: nothing listens there, or something on the way rejects it."""
    SILENT = "silent"
    """Nothing was answered in time: something on the way drops it, or the host is down."""
    UNRESOLVED = "unresolved"
    """The name is not known on that host."""


@dataclass(frozen=True, slots=True)
class HostTold:
    """The answers of a node's host: known names, and reachable addresses.

    Attributes:
        reach: What came of a connection, by address. Those of which the host cannot tell it are
            left out.
        names: The addresses of each host name, as they are known there.
    """

    reach: Mapping[str, Reach] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientsSeen:
    """Client sessions of ZooKeeper, of brokers and of others.

    Attributes:
        known: Sessions of brokers, by the address that they come from.
        others: Sessions that are neither ours nor those with which brokers are registered, by the
            address that they come from.
        untold: Servers that do not tell (`cons`), with what they said.
    """

    known: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, int] = field(default_factory=dict)
    untold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment of a cluster, as far as it could be queried.

    Attributes:
        hosts: What hosts of nodes told; those that did not are left out.
        clients: Who is connected to ZooKeeper; None where it was not asked.
        addresses: The addresses of controllers' host names, as they are known here.
        keepers: Who else keeps a node's properties file: `manager: fields`.
        neighbours: Paths in the ensemble that are not the cluster's.
    """

    hosts: Mapping[NodeId, HostTold] = field(default_factory=dict)
    clients: ClientsSeen | None = None
    addresses: Mapping[NodeId, tuple[str, ...]] = field(default_factory=dict)
    keepers: Mapping[NodeId, str] = field(default_factory=dict)
    neighbours: tuple[str, ...] = ()
