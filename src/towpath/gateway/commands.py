"""`towpath gateway`: relay clients to the cluster that serves them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.cluster.admin import Admin
from towpath.cluster.connect.connection import greet
from towpath.cluster.connect.exchange import Versions, address_text
from towpath.cluster.metadata import Broker
from towpath.gateway.asking import ask, withdraw
from towpath.gateway.json_outputs import (
    GatewayJson,
    PromotionJson,
    PromotionReasonJson,
    RelayedNodeJson,
)
from towpath.gateway.nodes import shown
from towpath.gateway.promotions import Promotions
from towpath.gateway.server import Behind, Gateway
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.ledger.link import OpenLink, open_link
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import Side, TopicName
from towpath.runbook import pointers
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
    section = _section(config)
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


_DONE = frozenset({PromotionStage.PROMOTED.value, PromotionStage.TOLD.value})
_LEFT = 3
"""Exit code where nothing was promoted."""


def promote(
    file: LinkFile,
    *,
    topics: Annotated[
        str | None,
        typer.Option(metavar="TOPIC,..", help="Only these topics; by default all of the link."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Tell who is connected and what would be held; no more."),
    ] = False,
    gone: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A gateway that was killed with its machine, so that nobody can tell it is dead.",
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Let the gateway move topics, and the groups that read them, to the target."""
    del output  # `show` reads it from the arguments
    config = load(file)
    _section(config)
    names = tuple(TopicName(each) for each in (topics or "").split(",") if each)
    with open_link(config) as link, stopping() as stop:
        found = ask(link, names, stop, dry_run=dry_run, gone=gone or "")
        if found.state == PromotionStage.ASKED.value:
            found = withdraw(link, found, stop)
    show(Group(*map(line, _lines(found))), _promotion_as_json(found))
    return 0 if found.state in _DONE else _LEFT


def _lines(found: Promotion) -> Iterator[str]:
    if found.state == PromotionStage.PROMOTED.value:
        yield (
            f"promoted: producers were held for {found.held} ms, consumers for {found.silent} ms"
        )
    elif found.state == PromotionStage.RUNNING.value:
        yield "running: the gateway goes on by itself; ask again what became of it"
    elif found.state != PromotionStage.TOLD.value:
        yield f"{found.state}: nothing is promoted, and all clients go on at the source"
    yield from found.told
    before = "not now: " if found.state == PromotionStage.TOLD.value else ""
    yield from (f"{before}{each}" for each in found.reasons)
    yield from pointers(code for each in found.reasons for code in each.codes)


def _promotion_as_json(found: Promotion) -> PromotionJson:
    return PromotionJson(
        name=found.name,
        state=found.state,
        gateway=found.gateway,
        told=[*found.told],
        reasons=[PromotionReasonJson(code=each.codes[0], text=str(each)) for each in found.reasons],
        held_ms=found.held,
        silent_ms=found.silent,
    )
