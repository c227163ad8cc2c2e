"""`towpath gateway`: relay clients to the cluster that serves them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Sequence

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.cluster.admin import Admin
from towpath.cluster.connect.connection import greet
from towpath.cluster.connect.exchange import Versions, address_text
from towpath.cluster.metadata import Broker
from towpath.gateway.json_outputs import GatewayJson, RelayedNodeJson
from towpath.gateway.listening import gateway_section
from towpath.gateway.nodes import shown
from towpath.gateway.promotions import Promotions
from towpath.gateway.server import Behind, Gateway
from towpath.ledger.link import OpenLink, open_link
from towpath.model.nouns import Side
from towpath.runtime import log
from towpath.runtime.deadline import Deadline
from towpath.runtime.log import LogLevel, LogWanted
from towpath.settings import ClusterConfig, LinkConfig, load
from towpath.settings.sections.gateway import GatewayConfig


def gateway(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """Relay clients to the source until stopped, under the target's cluster id."""
    del output  # `show` reads it from the arguments
    config = load(file)
    log.begin(LogWanted(LogLevel.WARNING))  # connections that the gateway ends are named
    section = gateway_section(config)
    with stopping() as stop:
        behind = look(config)
        with open_link(config) as link:
            served = asyncio.run(_serve(link, section, behind, stop))
    counts = served.counts
    said = f"stopped: {counts.all} connections, {counts.ended} ended by the gateway"
    show(line(said), _as_json(served, behind))
    return 0


def look(config: LinkConfig) -> Behind:
    """Return what clients need to know of both clusters.

    Raises:
        ClusterError: A cluster could not be reached.
    """
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as target:
        brokers, targets = source.cluster.brokers(), target.cluster.brokers()
        taken = [*_taken(config.source, Side.SOURCE, brokers)]
        taken += _taken(config.target, Side.TARGET, targets)
        return Behind(brokers, _by_all(taken), target.cluster.id(), targets)


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


async def _serve(
    link: OpenLink, section: GatewayConfig, behind: Behind, stop: threading.Event
) -> Gateway:
    gateway = Gateway(link.config, section, behind)
    promotions = Promotions(link, gateway, stop)
    promotions.begin()
    out = console(stderr=True)
    out.print(line(f"listening on {section.listen}; clients see cluster {behind.cluster}"))
    for number, node in gateway.nodes:
        at, real = address_text(node.shown), address_text(node.broker)
        out.print(line(f"  broker {shown(number)} at {at} is broker {number} at {real}"))
    promotions.start(asyncio.get_running_loop())
    await gateway.serve(stop)
    await asyncio.get_running_loop().run_in_executor(None, promotions.end)
    return gateway


def _as_json(gateway: Gateway, behind: Behind) -> GatewayJson:
    return GatewayJson(
        cluster=behind.cluster,
        nodes=[
            RelayedNodeJson(id=number, shown_id=shown(number), address=address_text(node.shown))
            for number, node in gateway.nodes
        ],
        connections=gateway.counts.all,
        ended=gateway.counts.ended,
    )
