"""`towpath promote` and `towpath revert`: ask the gateway of a link to move topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.options import LinkFile, topics_of
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.gateway.config_section import gateway_section
from towpath.gateway.json_outputs import (
    OwnRunJson,
    PromotionJson,
    PromotionReasonJson,
    PromotionStepJson,
)
from towpath.gateway.promotion.promotion_requests import withdraw
from towpath.gateway.tail_copy import MoveWish, OwnCopy, move
from towpath.ledger.entries import Promotion, PromotionStage, PromotionStep
from towpath.ledger.link import open_link
from towpath.model.amounts import counted, span
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import TopicName
from towpath.runbook import pointers
from towpath.settings import load
from towpath.settings.sections.gateway import GatewayConfig

_MOVED = frozenset({PromotionStage.PROMOTED.value, PromotionStage.REVERTED.value})
_DONE = _MOVED | {PromotionStage.TOLD.value}
_STEPS: Mapping[str, str] = {
    PromotionStep.BEGUN: "waiting until the copy is close behind, and every member was heard of",
    PromotionStep.NEAR: "members of groups come to a held join, and commit",
    PromotionStep.GATHERED: "their offsets are being written",
    PromotionStep.WRITTEN: "producers are held, and the last records copied",
    PromotionStep.DECIDED: "decided: producers go on; the link ends for these topics",
    PromotionStep.CLOSED: "consumers go on",
}
_STEPS_OF_GROUPS: Mapping[str, str] = {
    PromotionStep.BEGUN: "waiting until the target has all that the groups have read",
    PromotionStep.NEAR: "their offsets are being written",
    PromotionStep.WRITTEN: "their offsets are on the target",
    PromotionStep.DECIDED: "decided: members read on the target",
}
_LEFT = 3
"""Exit code where nothing moved, or a rehearsal found why nothing would."""


_Topics = Annotated[
    str | None,
    typer.Option(metavar="TOPIC,..", help="Only these topics; by default all of the link."),
]
_Batch = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only the topics of this batch, from `gateway.batches`."),
]
_Groups = Annotated[
    str | None,
    typer.Option(
        metavar="GROUP,..",
        help="Only these groups, before their topics, where `gateway.reads` is `target`.",
    ),
]
_DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Tell who is connected and what would be held; no more."),
]
_Gone = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A gateway that was killed with its machine, so that nobody can tell it is dead.",
    ),
]


def promote(
    file: LinkFile,
    *,
    topics: _Topics = None,
    batch: _Batch = None,
    groups: _Groups = None,
    dry_run: _DryRun = False,
    gone: _Gone = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Let the gateway move topics, and the groups that read them, to the target."""
    del output  # `show` reads it from the arguments
    return _asked(file, (topics, batch), gone, _groups_of(groups), dry_run=dry_run, back=False)


def revert(
    file: LinkFile,
    *,
    topics: _Topics = None,
    batch: _Batch = None,
    dry_run: _DryRun = False,
    gone: _Gone = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Let the gateway move promoted topics, and the groups that read them, back to the source."""
    del output  # `show` reads it from the arguments
    return _asked(file, (topics, batch), gone, (), dry_run=dry_run, back=True)


def _groups_of(said: str | None) -> tuple[str, ...]:
    return tuple(map(str, topics_of(said, "--groups")))


def _named(topics: str | None, batch: str | None, section: GatewayConfig) -> tuple[TopicName, ...]:
    """Return the topics that the options name, none for all.

    Raises:
        ConfigError: They name none, or both a batch and topics.
    """
    names = topics_of(topics)
    if batch is None:
        return names
    why = ""
    if names:
        why = "names topics by itself: leave `--topics` out"
    elif batch not in section.batches:
        known = ", ".join(section.batches) or "none"
        why = f"{batch!r} is not in `gateway.batches` of the file, which has {known}"
    if why:
        raise ConfigError((ConfigProblem("--batch", why),))
    return section.batches[batch]


def _asked(
    file: Path,
    which: tuple[str | None, str | None],
    gone: str | None,
    groups: tuple[str, ...],
    *,
    dry_run: bool,
    back: bool,
) -> int:
    config = load(file)
    section = gateway_section(config)
    if gone is not None and not gone.strip():
        why = "needs the name of a gateway; `towpath promote FILE --dry-run` names them"
        raise ConfigError((ConfigProblem("--gone", why),))
    names = _named(*which, section)
    if groups and (names or not section.reads_target):
        why = (
            "names groups that move before their topics: leave `--topics` and `--batch` out"
            if names
            else "needs `gateway.reads: target`; otherwise groups move with their topics"
        )
        raise ConfigError((ConfigProblem("--groups", why),))
    steps = _STEPS_OF_GROUPS if groups else _STEPS
    wish = MoveWish(file, names, groups, back=back, dry_run=dry_run, gone=gone or "")
    with open_link(config) as link, stopping() as stop:
        out = console(stderr=True)

        def say(text: str) -> None:
            out.print(line(text))

        moved = move(link, wish, stop, lambda step: say(steps.get(step, step)), say)
        found = moved.promotion
        if found.state == PromotionStage.ASKED.value:
            found = withdraw(link, found, stop)
    lines = [*_lines(found), *_lines_of_run(found, moved.copied)]
    show(Group(*map(line, lines)), _promotion_as_json(found, moved.copied))
    is_forbidden = found.state == PromotionStage.TOLD.value and found.reasons
    return 0 if found.state in _DONE and not is_forbidden else _LEFT


def _lines(found: Promotion) -> Iterator[str]:
    if found.state in _MOVED and found.groups:
        yield f"{found.state}: {', '.join(found.groups)}"
    elif found.state in _MOVED:
        yield (
            f"{found.state}: producers were held for {found.held} ms, consumers for"
            f" {found.silent} ms"
        )
    elif found.state == PromotionStage.RUNNING.value:
        yield "running: the gateway goes on by itself; `towpath link show FILE` tells what moved"
    elif found.state != PromotionStage.TOLD.value:
        yield f"{found.state}: nothing has moved, and all clients go on where they were"
    yield from found.told
    before = "not now: " if found.state == PromotionStage.TOLD.value else ""
    yield from (f"{before}{each}" for each in found.reasons)
    yield from pointers(code for each in found.reasons for code in each.codes)


def _lines_of_run(found: Promotion, copied: OwnCopy | None) -> Iterator[str]:
    """Yield what became of the run that this command started, if it did."""
    if copied is None or copied.exit_code is None:
        return
    left = f", from {counted(copied.to_copy, 'record')} behind" if copied.to_copy >= 0 else ""
    yield (
        f"the last records were copied by a run of this command{left}; it went on for"
        f" {span(copied.seconds)} and has ended"
    )
    if found.state == PromotionStage.RUNNING.value:
        yield "so what the gateway has not decided yet undoes itself"


def _promotion_as_json(found: Promotion, copied: OwnCopy | None) -> PromotionJson:
    return PromotionJson(
        name=found.name,
        state=found.state,
        gateway=found.gateway,
        told=[*found.told],
        reasons=[PromotionReasonJson(code=each.codes[0], text=str(each)) for each in found.reasons],
        held_ms=found.held,
        silent_ms=found.silent,
        steps=[PromotionStepJson(step=each.step, at=each.at) for each in found.steps],
        own_run=None
        if copied is None
        else OwnRunJson(to_copy=copied.to_copy, seconds=copied.seconds, exit_code=copied.exit_code),
    )
