"""Znodes that make brokers in ZooKeeper or migration mode end when they start. Pure.

Controllers write each change to ZooKeeper, also one that ZooKeeper mode would have refused. A
broker that starts with ZooKeeper reads all configs and quotas (`ZkConfigManager.startup` of Kafka
3.9) and ends where a handler of them fails (`ConfigHandler.scala`):

- The znode of a connection quota is named by its address with all but letters, digits, `.`, `-` and
  `_` encoded (`ZkConfigMigrationClient.writeClientQuotas`). `IpConfigHandler` resolves that name as
  it stands, also where the znode is empty, as a deleted quota leaves it.
- `LogManager.updateTopicConfig` refuses topic configs that came with KRaft mode alone (KIP-950).

Each of these was set on real brokers, and so was what is not here as KRaft refuses it, too: topic
configs of no known value, rates of throttles that are no numbers, quotas that are no whole numbers
or too large, and broker configs under names that are no ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from towpath.kraft.facts.seen import Oddity
from towpath.kraft.zookeeper import forms

_IPV4 = re.compile(r"[0-9]+(\.[0-9]+){0,3}")
"""What Java's `InetAddress.getByName` takes as an address without asking anybody."""
KRAFT_TOPIC_CONFIGS = ("remote.log.copy.disable", "remote.log.delete.on.disable")
_IPS, _TOPICS = "/config/ips", "/config/topics"


@dataclass(frozen=True, slots=True)
class AtStart:
    """A kind of znodes that make brokers end when they start.

    Attributes:
        root: Their parent.
        fits: Whether one of this name, with these configs, is of this kind.
        oddity: What it is told as.
        why: What it does, for people.
    """

    root: str
    fits: Callable[[str, Mapping[str, str]], bool]
    oddity: Oddity
    why: str


def _is_encoded(name: str, _: Mapping[str, str]) -> bool:
    return "%" in name


def _is_host(name: str, _: Mapping[str, str]) -> bool:
    return name != forms.DEFAULT and "%" not in name and _IPV4.fullmatch(name) is None


def _is_of_kraft(_: str, configs: Mapping[str, str]) -> bool:
    return any(configs.get(key, "").strip().lower() == "true" for key in KRAFT_TOPIC_CONFIGS)


AT_START = (
    AtStart(
        _IPS,
        _is_encoded,
        Oddity.ENDS_BROKERS,
        "a connection quota of an address that ZooKeeper mode cannot read, such as an IPv6 one, or"
        " what a deleted one has left: brokers in ZooKeeper or migration mode end as they start",
    ),
    AtStart(
        _IPS,
        _is_host,
        Oddity.MAY_END_BROKERS,
        "a connection quota of a host name: brokers in ZooKeeper or migration mode whose hosts"
        " cannot resolve it end as they start",
    ),
    AtStart(
        _TOPICS,
        _is_of_kraft,
        Oddity.ENDS_BROKERS,
        f"a topic with {' or '.join(KRAFT_TOPIC_CONFIGS)}, which ZooKeeper mode does not support:"
        " brokers in ZooKeeper or migration mode end as they start",
    ),
)
"""All that is known of the kind; each has its guard in the tests, and a row in the docs."""


def ends_at(root: str, name: str, configs: Mapping[str, str]) -> AtStart | None:
    """Return why a znode makes brokers end when they start, `None` if it does not."""
    kinds = (each for each in AT_START if each.root == root)
    return next((each for each in kinds if each.fits(name, configs)), None)
