"""`towpath gateway`: relay clients to the cluster that serves them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.cluster.admin import Admin
from towpath.cluster.connect.connection import greet
from towpath.cluster.connect.exchange import Versions, address_text
from towpath.cluster.metadata import Broker
from towpath.gateway.json_outputs import GatewayJson, RelayedNodeJson
from towpath.gateway.nodes import shown
from towpath.gateway.server import Behind, Gateway
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import Side
from towpath.runtime import log
from towpath.runtime.deadline import Deadline
from towpath.runtime.log import LogLevel, LogWanted
from towpath.settings import LinkConfig, load
from towpath.settings.sections.gateway import GatewayConfig

_SIDE = str(Side.SOURCE)


def gateway(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """Relay clients to the source until stopped, under the target's cluster id."""
    del output  # `show` reads it from the arguments
    config = load(file)
    log.begin(LogWanted(LogLevel.WARNING))  # connections that the gateway ends are named
    section = _section(config)
    with stopping() as stop:
        behind = look(config)
        served = asyncio.run(_serve(config, section, behind, stop))
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
        brokers = source.cluster.brokers()
        return Behind(brokers, _taken(config, brokers), target.cluster.id())


def _section(config: LinkConfig) -> GatewayConfig:
    """Return the section `gateway`, if it can be served.

    Raises:
        ConfigError: It is missing, or clients would get rights of the gateway's own.
    """
    if config.gateway is None:
        why = "is missing: name at least `listen`, where clients connect (docs/gateway.md)"
        raise ConfigError((ConfigProblem("gateway", why),))
    if config.source.tls is not None and config.source.tls.cert is not None:
        why = (
            "is a certificate with which brokers would take every client of the gateway for"
            " Towpath; a gateway needs a listener of the source without client certificates"
        )
        raise ConfigError((ConfigProblem("source.tls.cert", why),))
    return config.gateway


def _taken(config: LinkConfig, brokers: Iterable[Broker]) -> Versions:
    """Return what all brokers take, so that a client may turn to any of them."""
    timeout = config.source.request_timeout
    each = [
        greet(config.source, _SIDE, (node.host, node.port), Deadline.after(timeout)).api_versions
        for node in brokers
    ]
    keys = set.intersection(*map(set, each)) if each else set()
    return {
        key: (max(one[key][0] for one in each), min(one[key][1] for one in each)) for key in keys
    }


async def _serve(
    config: LinkConfig, section: GatewayConfig, behind: Behind, stop: threading.Event
) -> Gateway:
    gateway = Gateway(config, section, behind)
    out = console(stderr=True)
    out.print(line(f"listening on {section.listen}; clients see cluster {behind.cluster}"))
    for number, node in gateway.nodes:
        at, real = address_text(node.shown), address_text(node.broker)
        out.print(line(f"  broker {shown(number)} at {at} is broker {number} at {real}"))
    await gateway.serve(stop)
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
