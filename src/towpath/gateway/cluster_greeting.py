"""The first look at both clusters: request versions, brokers and cluster ids. Blocking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from towpath.cluster.admin import Admin
from towpath.cluster.connect.connection import greet
from towpath.cluster.connect.exchange import Versions
from towpath.cluster.metadata import Broker
from towpath.gateway.server import Behind
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Side
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig, LinkConfig


def look(config: LinkConfig) -> Behind:
    """Return the brokers, request versions and cluster id to serve; the source may be away.

    Raises:
        ClusterError: The target could not be reached, or a cluster refuses.
    """
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as target:
        targets, cluster = target.cluster.brokers(), target.cluster.id()
        there = [*_taken(config.target, Side.TARGET, targets)]
        try:
            brokers = source.cluster.brokers()
            here = [*_taken(config.source, Side.SOURCE, brokers)]
        except UnreachableError as error:
            return Behind((), _by_all(there), cluster, targets, away=error)
        return Behind(brokers, _by_all([*here, *there]), cluster, targets)


def versions_of(config: ClusterConfig, side: Side, brokers: Iterable[Broker]) -> Versions:
    """Return the request versions that all brokers of a cluster support.

    Raises:
        ClusterError: One does not answer, or refuses.
    """
    return _by_all([*_taken(config, side, brokers)])


def _taken(config: ClusterConfig, side: Side, brokers: Iterable[Broker]) -> Iterator[Versions]:
    """Yield what each broker takes."""
    for node in brokers:
        deadline = Deadline.after(config.request_timeout)
        yield greet(config, str(side), (node.host, node.port), deadline).api_versions


def _by_all(each: Sequence[Versions]) -> Versions:
    """Return what all brokers take, so that a client may turn to any of them."""
    keys = set.intersection(*map(set, each)) if each else set()
    return {
        key: (max(one[key][0] for one in each), min(one[key][1] for one in each)) for key in keys
    }
