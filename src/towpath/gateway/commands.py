"""`towpath gateway`: relay clients to the cluster that serves them."""

from __future__ import annotations

import asyncio
import threading

from towpath import __version__
from towpath.cli.options import LinkFile
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.cluster.connect.exchange import Address, address_text
from towpath.gateway.cluster_greeting import look
from towpath.gateway.config_section import gateway_section, require_adoptable
from towpath.gateway.gateway_counts import GatewayMeter, measured
from towpath.gateway.gateway_processes import serve_together, this_process
from towpath.gateway.json_outputs import GatewayJson, RelayedNodeJson
from towpath.gateway.link_clusters import require_clusters
from towpath.gateway.mirror_watch import MirrorWatch
from towpath.gateway.promotion.promotion_thread import PromotionThread
from towpath.gateway.relayed_nodes import shown
from towpath.gateway.server import Behind, Gateway
from towpath.ledger.link import OpenLink, open_link
from towpath.metering.serving import served
from towpath.model.amounts import shortened
from towpath.runtime import log
from towpath.runtime.log import LogLevel, LogWanted
from towpath.settings import load
from towpath.settings.sections.gateway import GatewayConfig

_SECOND = 1.0


def gateway(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """Relay clients to the source until stopped, under the target's cluster id."""
    config = load(file)
    process = this_process()
    section = gateway_section(config)
    if section.processes > 1 and process is None:
        return serve_together(file, section.processes, output)
    log.begin(LogWanted(LogLevel.WARNING))  # connections that the gateway ends are named
    with stopping() as stop:
        behind = look(config)
        require_adoptable(section, behind.brokers)
        with open_link(config) as link:
            if behind.away is None:
                require_clusters(link)
            ended = asyncio.run(_serve(link, section, behind, stop, process or 0))
    counts = ended.counts
    said = f"stopped: {counts.all} connections, {counts.ended} ended by the gateway"
    show(line(said), _as_json(ended, behind))
    return 0


async def _serve(
    link: OpenLink, section: GatewayConfig, behind: Behind, stop: threading.Event, process: int
) -> Gateway:
    gateway = Gateway(link.config, section, behind)
    gateway.routes.source_away = behind.away is not None
    promotions = PromotionThread(link, gateway, stop)
    try:
        promotions.begin()
        if behind.away is not None and not gateway.routes.topics:
            raise behind.away
        _say(section, behind, gateway, promotions)
        await _relay(link, gateway, promotions, stop, section.metrics_address(process))
    finally:  # also of one that cannot begin: no other gateway shall wait for it
        stop.set()
        await asyncio.get_running_loop().run_in_executor(None, promotions.end)
    return gateway


def _say(
    section: GatewayConfig, behind: Behind, gateway: Gateway, promotions: PromotionThread
) -> None:
    """Show what the gateway serves, and where."""
    out = console(stderr=True)
    if behind.away is not None:
        out.print(line(f"without the source: {behind.away}"))
        out.print(line("  topics that are promoted are served; others once it is there"))
    out.print(line(f"listening on {section.listen}; clients see cluster {behind.cluster}"))
    for number, node in gateway.nodes:
        at, real = address_text(node.shown), address_text(node.broker)
        out.print(line(f"  broker {shown(number)} at {at} is broker {number} at {real}"))
    theirs = promotions.of_others
    for by in sorted({*theirs.values()}):
        names = shortened(sorted(each for each, its in theirs.items() if its == by), 10)
        out.print(line(f"  link {by} has promoted {names}: clients of these belong to its gateway"))


async def _relay(
    link: OpenLink,
    gateway: Gateway,
    promotions: PromotionThread,
    stop: threading.Event,
    metrics: Address | None,
) -> None:
    """Serve clients until stopped, with the threads and the meter beside."""
    watch = None
    meter = GatewayMeter()
    measure = lambda: measured(meter, __version__, link.name, promotions.name)  # noqa: E731
    with served(metrics, meter, measure, key="gateway.metrics"):
        if gateway.routes.mirror is not None:
            watch = MirrorWatch(link.config, gateway, gateway.routes.mirror, stop)
            watch.start(asyncio.get_running_loop().call_soon_threadsafe)
        promotions.start(asyncio.get_running_loop())
        counting = asyncio.create_task(_count(meter, gateway, promotions))
        await gateway.serve(stop)
    counting.cancel()
    if watch is not None:
        watch.end()


async def _count(meter: GatewayMeter, gateway: Gateway, promotions: PromotionThread) -> None:
    """Tell the meter each second what is counted, and let clients leave."""
    while True:
        gateway.sweep()
        gateway.retire()
        meter.tell(gateway.counted(promotions.counts))
        await asyncio.sleep(_SECOND)


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
