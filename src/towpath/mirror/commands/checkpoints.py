"""`towpath checkpoints apply`: set group offsets from MirrorMaker 2's checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.groups.model import GroupPosition
from towpath.mirror.mm2.apply import CheckpointsReport, CheckpointsRequest
from towpath.mirror.mm2.apply import apply as apply_checkpoints
from towpath.mirror.mm2.policy import Policy, PolicyKind
from towpath.mirror.show.mm2_shapes import CheckpointsJson
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.model.reasons import as_data
from towpath.runtime.clock import readable
from towpath.settings import Size, load_target

NOT_ALL = 3
_NOTHING = "none"
_HEADERS = ("group", "partition", "source", "target now", "gets", "what", "why")

checkpoints = typer.Typer(
    help="Apply the checkpoints of MirrorMaker 2 to consumer groups.", no_args_is_help=True
)


@checkpoints.callback()
def _group() -> None:
    """Apply the checkpoints of MirrorMaker 2 to consumer groups."""


@checkpoints.command()
def apply(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A YAML file with the section `target`: that of a link, or one with nothing else.",
        ),
    ],
    *,
    from_mm2: Annotated[
        bool, typer.Option("--from-mm2", help="Take the checkpoints of MirrorMaker 2.")
    ] = False,
    source_alias: Annotated[
        str,
        typer.Option(
            metavar="ALIAS",
            help="MirrorMaker 2's alias of the source; by default the only one on the target.",
        ),
    ] = "",
    policy: Annotated[
        PolicyKind, typer.Option(help="Its replication policy.")
    ] = PolicyKind.DEFAULT,
    separator: Annotated[str, typer.Option(help="Its replication.policy.separator.")] = ".",
    dotted: Annotated[
        bool,
        typer.Option(
            "--dotted-internal-names",
            help="The separator is not in the names of its own topics"
            " (replication.policy.internal.topic.separator.enabled=false).",
        ),
    ] = False,
    groups: Annotated[
        str | None, typer.Option(metavar="GROUP,..", help="Only these consumer groups.")
    ] = None,
    rewinds: Annotated[
        bool,
        typer.Option("--rewinds", help="Set groups back that stand behind their checkpoint."),
    ] = False,
    over_others: Annotated[
        bool,
        typer.Option(
            "--over-others", help="Let groups skip records that MirrorMaker 2 did not write."
        ),
    ] = False,
    scan: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="How much of each mirror partition to read to see who wrote it, or `none`.",
        ),
    ] = "64MiB",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write MirrorMaker 2's checkpoints to consumer groups of the target that have no members.

    The target alone is needed. Groups never go back, and never skip records that others wrote to a
    mirror topic, unless you say so. Everything that is written is read back.
    """
    del output  # `show` reads it from the arguments
    if not from_mm2:
        raise _refusal("--from-mm2", "is needed: it says whose checkpoints to take")
    request = CheckpointsRequest(
        alias=source_alias,
        policy=Policy(kind=policy, separator=separator, internal_separator=not dotted),
        groups=_groups(groups),
        rewinds=rewinds,
        over_others=over_others,
        scan=_size(scan),
        dry_run=dry_run,
    )
    done = apply_checkpoints(load_target(file), request)
    show(Group(*_picture(done)), _data(done))
    return 0 if done.complete else NOT_ALL


def _groups(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    found = tuple(dict.fromkeys(name for each in text.split(",") if (name := each.strip())))
    if not found:
        raise _refusal("--groups", "name at least one consumer group")
    return found


def _size(text: str) -> int:
    if text == _NOTHING:
        return 0
    try:
        return int(Size.parse(text))
    except ValueError as error:
        raise _refusal("--scan", f"{foreign(error)}, or {_NOTHING}") from None


def _refusal(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))


def _picture(done: CheckpointsReport) -> Iterator[RenderableType]:
    found = done.checkpoints
    if not done.positions:
        yield line(f"{found.topic} holds no checkpoints")
    else:
        yield line(f"checkpoints of {found.topic}, the newest of {readable(found.newest)}")
        rows = [_row(each, done) for each in done.positions]
        numbers = {"source", "target now", "gets"}
        yield Grid(_HEADERS, rows, right=numbers, whole=("what",), below=("why",))
    yield from (line(f"note: {note}") for note in done.notes)
    counts = Counter(_word(each, done) for each in done.positions)
    if counts:
        yield line(", ".join(f"{number} {word}" for word, number in sorted(counts.items())))


def _row(each: GroupPosition, done: CheckpointsReport) -> tuple[str, ...]:
    known = "" if each.known is None else str(each.known)
    gets = str(each.answer.offset) if each.answer is not None and not each.reason else ""
    return (
        each.mirror_group, str(each.mirror), str(each.source), known, gets, _word(each, done),
        _why(each),
    )  # fmt: skip


def _word(each: GroupPosition, done: CheckpointsReport) -> str:
    if each.due and not done.written:
        return "would be written"
    return str(each.outcome).lower().replace("_", " ")


def _why(each: GroupPosition) -> str:
    clamped = each.answer.why if each.answer is not None else ""
    return "; ".join(filter(None, (str(each.reason or ""), clamped)))


def _data(done: CheckpointsReport) -> CheckpointsJson:
    found = done.checkpoints
    return {
        "topic": found.topic,
        "alias": done.alias,
        "newest": found.newest,
        "written": done.written,
        "complete": done.complete,
        "positions": [
            {
                "group": each.mirror_group,
                "topic": each.mirror.topic if each.mirror else None,
                "partition": each.tp.partition,
                "source_offset": each.source,
                "known": each.known,
                "offset": each.answer.offset if each.answer is not None else None,
                "outcome": str(each.outcome),
                "reason": as_data(each.reason) if each.reason is not None else None,
                "why": _why(each),
            }
            for each in done.positions
        ],
        "notes": list(done.notes),
    }
