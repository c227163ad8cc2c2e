"""What controllers write to ZooKeeper, and brokers in ZooKeeper or migration mode end at. Pure.

Controllers name the znode of a connection quota by its address with all but letters, digits, `.`,
`-` and `_` encoded (`ZkConfigMigrationClient.writeClientQuotas` of Kafka 3.9). A broker that starts
with ZooKeeper resolves that name as it stands, and ends where it cannot
(`IpConfigHandler.processConfigChanges`), also where the znode is empty: a deleted quota leaves it.
ZooKeeper mode itself takes no such quota; KRaft does, as of IPv6 addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from towpath.kraft.observing.seen import Oddity
from towpath.kraft.zookeeper import forms

_IPV4 = re.compile(r"[0-9]+(\.[0-9]+){0,3}")
"""What Java's `InetAddress.getByName` takes as an address without asking anybody."""


@dataclass(frozen=True, slots=True)
class AtStart:
    """A kind of znodes that brokers end at as they start.

    Attributes:
        root: Their parent.
        fits: Whether one of this name is of this kind.
        oddity: What it is told as.
        why: What it does, for people.
    """

    root: str
    fits: Callable[[str], bool]
    oddity: Oddity
    why: str


def _is_encoded(name: str) -> bool:
    return "%" in name


def _is_host(name: str) -> bool:
    return name != forms.DEFAULT and not _is_encoded(name) and _IPV4.fullmatch(name) is None


AT_START = (
    AtStart(
        "/config/ips",
        _is_encoded,
        Oddity.ENDS_BROKERS,
        "a connection quota of an address that ZooKeeper mode cannot read, such as an IPv6 one, or"
        " what a deleted one has left: brokers in ZooKeeper or migration mode end as they start",
    ),
    AtStart(
        "/config/ips",
        _is_host,
        Oddity.MAY_END_BROKERS,
        "a connection quota of a host name: brokers in ZooKeeper or migration mode whose hosts"
        " cannot resolve it end as they start",
    ),
)
"""All that is known of the kind; each has its guard in the tests."""


def ends_at(root: str, name: str) -> AtStart | None:
    """Return what a znode does to brokers that start with ZooKeeper, None where it does nothing."""
    return next((each for each in AT_START if each.root == root and each.fits(name)), None)
