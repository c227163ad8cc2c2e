"""The display of orphaned objects that `archive recover` adds, or would add. Pure."""

from __future__ import annotations

from rich.console import Group, RenderableType

from towpath.archive.show.archive import numbered
from towpath.archive.show.upkeep_shapes import FoundSegmentJson, RecoveryJson
from towpath.archive.upkeep.recovering import FoundSegment, Recovery, StrayFate
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted

_COLUMNS = ("topic", "partition", "offsets", "records", "what", "object", "why")


def recovery_data(archive: str, made: Recovery) -> RecoveryJson:
    """Return the recovered objects, for programs."""
    taken = made.of(StrayFate.TAKEN)
    return {
        "archive": archive,
        "version": made.version,
        "recovered": made.done,
        "complete": made.complete,
        "taken": len(taken),
        "records": sum(each.segment.records for each in taken),
        "lost": sum(each.gap for each in taken),
        "refused": len(made.of(StrayFate.REFUSED)),
        "spare": len(made.of(StrayFate.SPARE)),
        "unreadable": [{"object": key, "why": why} for key, why in made.unreadable.items()],
        "segments": [_segment_data(each) for each in made.segments],
    }


def _segment_data(each: FoundSegment) -> FoundSegmentJson:
    segment = each.segment
    return {
        "object": each.key,
        "topic": segment.topic,
        "topic_id": segment.partition_id.source.topic_id,
        "partition": segment.partition,
        "history": segment.partition_id.history,
        "start": segment.start,
        "end": segment.end,
        "records": segment.records,
        "verdict": str(each.verdict),
        "gap": each.gap,
        "why": each.why,
    }


def recovery_picture(made: Recovery, data: RecoveryJson) -> RenderableType:
    """Return the recovered objects, for people."""
    parts: list[RenderableType] = []
    if made.segments:
        rows = (_row(each) for each in made.segments)
        parts += [Grid(_COLUMNS, rows, right=("records",), spare=("object",), below=("why",)), ""]
    parts += [line(f"✗ {key} cannot be taken in: {why}") for key, why in made.unreadable.items()]
    return Group(*parts, *map(line, _sentences(data)))


def _sentences(data: RecoveryJson) -> list[str]:
    if not (data["segments"] or data["unreadable"]):
        return ["every object of the archive is in an entry of its commit log"]
    verb = "are taken in" if data["recovered"] else "would be taken in (--yes does it)"
    lines = [f"{counted(data['taken'], 'segment')} with {count(data['records'])} records {verb};"
             f" {data['refused']} refused, {data['spare']} that the archive holds elsewhere;"
             f" version {data['version']}"]  # fmt: skip
    if data["lost"]:
        lines.append(f"{count(data['lost'])} offsets are in no object, and become gaps (lost)")
    if data["taken"]:
        lines.append(
            "what the lost entries said besides records (configs, positions, access, schemas) and"
            " what they removed (prune, forget) is in no object: start `archive run`, and prune"
            " and forget again what was to go"
        )
    return lines


def _row(each: FoundSegment) -> tuple[str, ...]:
    segment = each.segment
    gap = f", behind a gap of {count(each.gap)}" if each.gap else ""
    return (
        segment.topic,
        numbered(segment.partition_id),
        f"{segment.start} to {segment.end - 1}",
        count(segment.records),
        f"{each.verdict}{gap}",
        each.key,
        each.why,
    )
