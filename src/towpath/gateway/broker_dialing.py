"""Connections to brokers, opened for clients."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence

from towpath.cluster.connect.exchange import Address, address_text
from towpath.cluster.connect.security import ssl_context
from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.link_login import LinkLogin
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import BrokerPlace, Cluster
from towpath.settings.sections.clusters import ClusterConfig

_PATIENCE = 5.0
"""Seconds within which a broker must accept a connection."""


class BrokerDialing:
    """Opens connections to the brokers of both clusters; made and used within one event loop.

    Args:
        clusters: How each cluster is reached.
        nodes: The brokers of each.
    """

    def __init__(
        self, clusters: Mapping[Cluster, ClusterConfig], nodes: Mapping[Cluster, RelayedNodes]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._clusters, self._nodes = clusters, nodes
        self._turn = itertools.count()

    def open(self, leg: BrokerConnection, place: BrokerPlace) -> None:
        """Begin to connect to a place."""
        leg.opening = self._loop.create_task(self._connect(leg, place))

    async def _connect(self, leg: BrokerConnection, place: BrokerPlace) -> None:
        """Connect to the first of the brokers of a place that accepts it."""
        why = "the cluster has no such broker"
        cluster = self._clusters[place.cluster]
        tls = ssl_context(cluster.tls) if cluster.tls else None
        for at in self._brokers(place):
            try:
                async with asyncio.timeout(_PATIENCE):
                    login = LinkLogin(cluster, at[0]) if place.as_link and cluster.sasl else None
                    first = login or leg
                    await self._loop.create_connection(
                        lambda of=first: of, *at, ssl=tls, server_hostname=at[0] if tls else None
                    )
                    if login is not None:
                        await self._log_in(login, leg)
            except OSError as error:  # also those of TLS, and of time
                why = f"{address_text(at)} is away: {error.strerror or type(error).__name__}"
            else:
                return
        leg.failed(why)

    async def _log_in(self, login: LinkLogin, leg: BrokerConnection) -> None:
        """Log in as the link, and let the connection serve a client.

        Raises:
            OSError: It was refused.
        """
        try:
            good = await login.go()
        except BaseException:
            login.end()
            raise
        leg.until = self._loop.time() + good if good is not None else None
        login.hand_over(leg)

    def _brokers(self, place: BrokerPlace) -> Sequence[Address]:
        """Return where to connect; of several brokers, another one is first each time."""
        nodes = self._nodes[place.cluster]
        if place.broker is not None:
            at = nodes.broker(place.broker)
            return [at] if at is not None else []
        found = [node.broker for _, node in nodes]
        first = next(self._turn) % max(len(found), 1)
        return found[first:] + found[:first]
