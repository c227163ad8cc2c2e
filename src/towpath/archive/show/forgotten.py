"""The display of data that was deleted from an archive, or would be. Pure."""

from __future__ import annotations

from rich.console import Group, RenderableType

from towpath.archive.config import ArchiveConfig
from towpath.archive.show.archive import numbered
from towpath.archive.show.compaction_result import tidied_data, tidied_lines
from towpath.archive.show.upkeep_shapes import (
    DoneForgetJson,
    DonePruneJson,
    ForgetJson,
    LookedForgetJson,
    PlannedPruneJson,
    PruneJson,
)
from towpath.archive.upkeep.forgetting import Forgetting
from towpath.archive.upkeep.pruning import Pruning
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted, size
from towpath.runtime.clock import readable

_PRUNED = ("topic", "partition", "begin", "then", "segments", "records", "bytes", "newest", "left")


def prune_data(archive: str, made: Pruning) -> PruneJson:
    """Return the pruned segments, for programs."""
    planned: PlannedPruneJson = {
        "archive": archive,
        "version": made.version,
        "pruned": made.done is not None,
        "segments": sum(len(each.segments) for each in made.partitions),
        "records": sum(each.records for each in made.partitions),
        "bytes": sum(each.bytes for each in made.partitions),
        "partitions": [
            {
                "topic": each.topic,
                "topic_id": each.id.source.topic_id,
                "partition": each.id.partition,
                "history": each.id.history,
                "begin": each.begin,
                "end": each.end,
                "archived_to": each.archived_to,
                "segments": len(each.segments),
                "records": each.records,
                "bytes": each.bytes,
                "newest": each.newest,
            }
            for each in made.partitions
        ],
    }
    if made.done is None:
        return planned
    done: DonePruneJson = {**planned, **tidied_data(made.done)}
    return done


def prune_picture(config: ArchiveConfig, made: Pruning, data: PruneJson) -> RenderableType:
    """Return the pruned segments, for people."""
    if not made.partitions:
        rest = tidied_lines(tidied_data(made.done)) if made.done is not None else []
        return Group(*map(line, ["nothing to prune", *rest]))
    table = Grid(
        _PRUNED,
        (
            (
                each.topic,
                numbered(each.id),
                count(each.begin),
                count(each.end),
                count(len(each.segments)),
                count(each.records),
                size(each.bytes),
                readable(each.newest) if each.newest is not None else "-",
                "nothing" if each.all else count(each.archived_to - each.end),
            )
            for each in made.partitions
        ),
        right=_PRUNED[1:7],
        spare=("segments", "newest"),
    )
    what = (
        f"{counted(data['segments'], 'segment')} of {counted(len(made.partitions), 'partition')},"
        f" {count(data['records'])} records, {size(data['bytes'])}"
    )
    if made.done is None:
        last = ["", f"would be removed: {what}; nothing was done: add --yes"]
    else:
        last = ["", f"removed from the archive: {what}; version {made.version}"]
        last += tidied_lines(tidied_data(made.done))
    return Group(table, *map(line, [*last, *config.notes()]))


def forget_data(archive: str, done: Forgetting, *, writes: bool, stopped: bool) -> ForgetJson:
    """Return the records found and erased by `archive forget`, for programs."""
    looked: LookedForgetJson = {
        "archive": archive,
        "version": done.version,
        "written": writes,
        "stopped": stopped,
        "unanswered": done.unanswered,
        "complete": not done.failed and not stopped,
        "segments_looked_at": done.done,
        "segments": done.segments,
        "records": done.records,
        "erased": done.erased,
        "partitions": [
            {"topic": topic, "partition": partition, "records": records}
            for (topic, partition), records in sorted(done.found.items())
        ],
        "failed": [{"object": key, "why": why} for key, why in sorted(done.failed.items())],
        "replaced_objects_left": done.waiting,
        "readers": done.readers,
    }
    if done.tidied is None:
        return looked
    tidied: DoneForgetJson = {**looked, **tidied_data(done.tidied)}
    return tidied


def forget_picture(config: ArchiveConfig, done: Forgetting, data: ForgetJson) -> RenderableType:
    """Return the records found and erased by `archive forget`, for people."""
    lines = [
        f"{topic}-{partition}: {counted(records, 'record')} with this key"
        for (topic, partition), records in sorted(done.found.items())
    ]
    what = f"{counted(done.records, 'record')} in {counted(done.segments, 'segment')}"
    if not done.records:
        lines.append(f"no record has this key, in {counted(done.done, 'segment')}")
    elif not data["written"]:
        lines.append(f"would be erased: {what}; nothing was done: add --yes")
    else:
        lines.append(f"erased: {what}; version {done.version}; their offsets are gaps now")
    lines += [f"✗ {key}: {why}" for key, why in sorted(done.failed.items())]
    if data["stopped"]:
        lines.append(f"stopped: {count(done.planned - done.done)} segments were not looked at")
    if data["unanswered"]:
        lines.append(f"{data['unanswered']}; run this command again for what was not erased")
    lines += _out_of_reach(config, done)
    lines += config.notes()
    return Group(*map(line, lines))


def _out_of_reach(config: ArchiveConfig, done: Forgetting) -> list[str]:
    """Return what may still hold the records."""
    lines = []
    if done.waiting:
        kept = " or because the file says `delete: false`" if any(
            not rule.delete for rule in config.compaction
        ) else ""  # fmt: skip
        lines.append(
            f"{counted(done.waiting, 'replaced object')} may still hold such records: kept for"
            f" `grace` ({config.grace}), for {counted(done.readers, 'registered reader')}{kept};"
            " run this command again later to delete them"
        )
    lines.append(
        "not reached: the source itself, versions that the bucket keeps of deleted objects, copies"
        " in other regions, tables that were registered elsewhere, and clusters that were restored"
    )
    return lines
