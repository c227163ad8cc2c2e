"""The display of a compaction's result. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from towpath.archive.show.upkeep_shapes import CompactionJson, TidiedJson
from towpath.archive.upkeep.compaction_rounds import CompactionProgress
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted, size, span

_NAMED = 20


def compaction_data(
    archive: str, done: CompactionProgress, seconds: float, *, stopped: bool
) -> CompactionJson:
    """Return the result of a compaction for programs."""
    return {
        "archive": archive,
        "seconds": round(seconds, 1),
        "stopped": stopped,
        "unanswered": done.unanswered,
        "complete": not done.failed and not stopped,
        "version": done.version,
        "segments_read": done.read,
        "segments_written": done.written,
        "bytes": done.bytes,
        "records": done.records,
        "redundant": done.redundant,
        "failed": [{"partition": at, "why": why} for at, why in sorted(done.failed.items())],
        **tidied_data(done),
    }


def tidied_data(done: CompactionProgress) -> TidiedJson:
    """Return the counts of deleted and waiting objects, for programs."""
    return {
        "objects_deleted": done.swept,
        "objects_waiting": done.waiting,
        "orphans_deleted": done.orphans,
        "orphan_bytes": done.orphan_bytes,
        "orphans_unsettled": done.unsettled,
        "orphans_unreadable": list(done.unreadable),
        "orphans_stranded": list(done.stranded),
        "uploads_aborted": done.uploads,
    }


def compaction_picture(data: CompactionJson) -> RenderableType:
    """Return the result of a compaction for people."""
    how = "stopped" if data["stopped"] else "ended"
    merged = (
        f"{counted(data['segments_read'], 'segment')} became {count(data['segments_written'])},"
        f" {count(data['records'])} records, {size(data['bytes'])}"
        if data["segments_read"]
        else ("nothing was merged" if data["stopped"] else "nothing to merge")
    )
    lines = [f"{how} after {span(data['seconds'])}: {merged}; version {data['version']}"]
    if data["unanswered"]:
        lines.append(
            f"{data['unanswered']}; nothing is half done: what was not committed is done again by"
            " the next compaction"
        )
    if data["redundant"]:
        lines.append(
            f"{counted(data['redundant'], 'merge')} in vain: another process had replaced or"
            " removed the segments"
        )
    lines += tidied_lines(data)
    failed = data["failed"]
    lines += [f"✗ {each['partition']}: {each['why']}" for each in failed[:_NAMED]]
    if len(failed) > _NAMED:
        lines.append(f"… and {len(failed) - _NAMED} more")
    return Group(*map(line, lines))


def tidied_lines(data: TidiedJson) -> list[str]:
    """Return sentences about the objects that were deleted, and those that were not."""
    lines = []
    if data["objects_deleted"]:
        lines.append(f"{counted(data['objects_deleted'], 'replaced object')} deleted")
    if data["objects_waiting"]:
        lines.append(
            f"{counted(data['objects_waiting'], 'replaced object')} kept for now: for `grace`, for"
            " registered readers, or because the file says `delete: false`"
        )
    if data["orphans_deleted"]:
        lines.append(
            f"{counted(data['orphans_deleted'], 'object')} of dead writers deleted,"
            f" {size(data['orphan_bytes'])}"
        )
    if data["orphans_unsettled"]:
        lines.append(
            f"{counted(data['orphans_unsettled'], 'object')} in no entry of the commit log kept:"
            " younger than `grace`, or still to be committed"
        )
    if data["uploads_aborted"]:
        lines.append(f"{counted(data['uploads_aborted'], 'unfinished upload')} removed")
    lines += [f"not readable, and in no entry: {key}" for key in data["orphans_unreadable"]]
    return [*lines, *stranded_lines(data["orphans_stranded"], len(data["orphans_stranded"]))]


def stranded_lines(keys: Sequence[str], number: int) -> list[str]:
    """Return sentences about orphaned objects whose log entries may be lost.

    Args:
        keys: The keys of some of them.
        number: How many there are.
    """
    if not number:
        return []
    lines = [f"in no entry, with what the archive lacks: {key}" for key in keys[:_NAMED]]
    if number > len(lines):
        lines.append(f"… and {number - len(lines)} more")
    lines.append("the entries that named them may be lost; `towpath archive recover` tells more")
    return lines
