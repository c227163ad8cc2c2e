"""`towpath link`: create links in the ledger, list, show and remove them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import typer
from rich.console import Group, RenderableType

from towpath.cli.options import LinkFile
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.mirror.commands.remove import remove
from towpath.mirror.links.create import CreatedLink
from towpath.mirror.links.create import create as create_link
from towpath.mirror.links.known_links import KnownLink, LinkTopic, list_links, show_link
from towpath.mirror.show.link_shapes import (
    CreatedLinkJson,
    KnownLinkJson,
    LinksJson,
    LinkTopicJson,
    ServingGatewayJson,
    ShownLinkJson,
)
from towpath.model.amounts import counted
from towpath.runtime.clock import readable
from towpath.settings import load

link = typer.Typer(
    help="Create links in the ledger, list, show and remove them.", no_args_is_help=True
)
link.command("rm")(remove)


@link.command("create")
def create(file: LinkFile, *, output: OutputOption = Output.TEXT) -> None:
    """Write a link to the ledger on the target, and touch nothing else: the source is not asked."""
    del output  # `show` reads it from the arguments
    done = create_link(load(file))
    show(line(_told(done)), _created_as_json(done))


@link.command("ls")
def ls(file: LinkFile, *, output: OutputOption = Output.TEXT) -> None:
    """List all links in the ledger of the target that FILE names."""
    del output  # `show` reads it from the arguments
    found = list_links(load(file))
    show(_list(found), LinksJson(links=[*map(_link_as_json, found)]))


@link.command("show")
def show_(file: LinkFile, *, output: OutputOption = Output.TEXT) -> None:
    """Show a link and its topics as the ledger knows them, and why clients of some cannot move."""
    del output  # `show` reads it from the arguments
    found = show_link(load(file))
    data = ShownLinkJson(
        link=_link_as_json(found.link), topics=[*map(_topic_as_json, found.topics)]
    )
    show(Group(*map(line, _lines(found.link)), _topics(found.topics)), data)


def _told(done: CreatedLink) -> str:
    name = done.entry.link
    if done.is_new:
        return f"link {name} is created; `towpath plan` says what a run would do"
    if done.is_changed:
        return f"link {name} was known; the ledger has what the file says now"
    return f"link {name} was created already, on {readable(done.entry.at)} by {done.entry.user}"


def _list(found: Sequence[KnownLink]) -> RenderableType:
    if not found:
        return line("the ledger on the target knows no link")
    rows = [
        (
            each.name,
            each.word.replace("_", " "),
            "alive" if each.is_run else "",
            str(len(each.gateways) or ""),
            str(len(each.promoted) or ""),
            _source(each),
        )
        for each in found
    ]
    headers = ("link", "state", "run", "gateways", "promoted", "source")
    return Grid(headers, rows, right=("gateways", "promoted"), below=("source",))


def _source(each: KnownLink) -> str:
    if each.created is not None:
        return ",".join(each.created.source)
    return f"cluster {each.identity.source_cluster}" if each.identity is not None else ""


def _lines(each: KnownLink) -> Iterator[str]:
    yield f"link {each.name}: {each.word.replace('_', ' ')}"
    if each.identity is not None:
        yield f"from cluster {each.identity.source_cluster} to {each.identity.target_cluster}"
    if each.created is not None:
        made = each.created
        yield f"source: {','.join(made.source)}; topics: {', '.join(made.include)}"
        yield f"created {readable(made.at)} by {made.user} on {made.host}"
    if each.run is not None:
        yield f"run: {each.run}"
    if each.groups:
        alone = f"; before their topics: {', '.join(sorted(each.alone))}" if each.alone else ""
        yield f"groups at the target (promoted): {', '.join(sorted(each.groups))}{alone}"
    for sign in each.gateways:
        yield f"gateway {sign.name}: on {sign.host}, pid {sign.pid}, since {readable(sign.started)}"


def _topics(topics: Sequence[LinkTopic]) -> RenderableType:
    if not topics:
        return line("nothing is copied yet")
    rows = [
        (
            each.topic if each.topic == each.target else f"{each.topic} as {each.target}",
            str(each.partitions),
            str(each.identical),
            each.state.replace("_", " "),
            _clients(each),
        )
        for each in topics
    ]
    headers = ("topic", "partitions", "identical", "state", "clients")
    grid = Grid(headers, rows, right=("partitions", "identical"), below=("clients",))
    return Group(grid, line(_sum(topics)))


def _clients(each: LinkTopic) -> str:
    if each.promoted:
        return "at the target (promoted)"
    return "; ".join(f"cannot be promoted: {why}" for why in each.reasons[:1])


def _sum(topics: Sequence[LinkTopic]) -> str:
    stay = sum(bool(each.reasons) for each in topics)
    moved = sum(each.promoted for each in topics)
    return f"{counted(len(topics), 'topic')}: {moved} promoted, {stay} that cannot be"


def _created_as_json(done: CreatedLink) -> CreatedLinkJson:
    entry = done.entry
    return CreatedLinkJson(
        link=entry.link,
        source=[*entry.source],
        include=[*entry.include],
        exclude=[*entry.exclude],
        created_at=entry.at,
        created_by=f"{entry.user} on {entry.host}",
        new=done.is_new,
        changed=done.is_changed,
    )


def _link_as_json(each: KnownLink) -> KnownLinkJson:
    return KnownLinkJson(
        link=each.name,
        state=each.word,
        running=each.is_run,
        source=[*each.created.source] if each.created is not None else [],
        source_cluster=each.identity.source_cluster if each.identity is not None else "",
        created_at=each.created.at if each.created is not None else 0,
        gateways=[
            ServingGatewayJson(name=sign.name, host=sign.host, pid=sign.pid, since=sign.started)
            for sign in each.gateways
        ],
        promoted=sorted(each.promoted),
        promoted_groups=sorted(each.groups),
        promoted_alone=sorted(each.alone),
    )


def _topic_as_json(each: LinkTopic) -> LinkTopicJson:
    return LinkTopicJson(
        topic=each.topic,
        target=each.target,
        partitions=each.partitions,
        identical=each.identical,
        promoted=each.promoted,
        state=each.state,
        reasons=[*each.reasons],
    )
