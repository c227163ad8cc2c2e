"""The display of an archive's verification. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.archive.model import PartitionId
from towpath.archive.read.verify.findings import CheckedArchive, CheckedPartition
from towpath.archive.show.archive import numbered
from towpath.archive.show.compaction_result import stranded_lines
from towpath.archive.show.reading_shapes import CheckedArchiveJson
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted, size, span
from towpath.runbook import pointers

_NAMED = 20
_COLUMNS = ("topic", "partition", "segments", "records", "at the source", "gone there", "note")
_RIGHT = ("partition", "segments", "records", "at the source", "gone there")


def check_data(archive: str, found: CheckedArchive, seconds: float) -> CheckedArchiveJson:
    """Return the findings of a verification, for programs."""
    scope = found.scope
    return {
        "archive": archive,
        "whole": not (found.problems or found.looked_at_nothing),
        "version": found.version,
        "seconds": round(seconds, 1),
        "deep": scope.reads,
        "against_source": scope.source,
        "sample_percent": scope.share * 100,
        "sample_seed": scope.seed if scope.share < 1 else None,
        "entries": found.entries,
        "unsummed_entries": found.unsummed_entries,
        "unsummed_checkpoints": found.unsummed_checkpoints,
        "segments": found.segments,
        "objects": found.objects,
        "bytes": found.bytes,
        "unsummed_objects": found.unsummed,
        "orphans": found.orphans[0] if found.orphans else None,
        "orphan_bytes": found.orphans[1] if found.orphans else None,
        "orphan_keys": list(found.unnamed),
        "stranded": list(found.stranded),
        "problems": [
            {"code": each.code, "about": each.about, "why": each.why} for each in found.problems
        ],
        "notes": found.notes,
        "partitions": [
            {
                "topic": each.topic,
                "topic_id": partition.source.topic_id,
                "partition": partition.partition,
                "history": partition.history,
                "segments": each.segments,
                "records": each.records,
                "compared": each.compared,
                "gone_at_source": each.gone,
                "uncompared": each.uncompared,
            }
            for partition, each in sorted(found.partitions.items())
        ],
    }


def check_picture(found: CheckedArchive, data: CheckedArchiveJson) -> RenderableType:
    """Return the findings of a verification, for people: one line for each problem."""
    parts: list[RenderableType] = []
    if found.partitions:
        rows = [_row(id_, each) for id_, each in sorted(found.partitions.items())]
        spare = () if found.scope.source else ("at the source", "gone there", "note")
        parts += [Grid(_COLUMNS, rows, right=_RIGHT, spare=spare, below=("note",)), ""]
    parts += [line(f"✗ {each}") for each in found.problems]
    parts += map(line, found.notes)
    if found.orphans and found.orphans[0]:
        parts += map(line, _orphans(*found.orphans, found.unnamed, found.stranded))
    if found.unsummed:
        parts.append(line(_unsummed(found)))
    if found.unsummed_entries or found.unsummed_checkpoints:
        parts.append(line(_unsummed_log(found)))
    parts += map(line, pointers(each.code for each in found.problems))
    return Group(*parts, line(_sentence(found, data)))


def _orphans(number: int, bytes_: int, keys: Sequence[str], stranded: Sequence[str]) -> list[str]:
    """Return what is in no entry: what the archive lacks, and else what may go."""
    lines = [f"{counted(number, 'object')} ({size(bytes_)}) in no entry of the commit log, that a"
             " writer which died has left, or that are not committed yet"]  # fmt: skip
    spare = [each for each in keys if each not in stranded]
    lines += [f"in no entry: {each}" for each in spare[:_NAMED]]
    return [*lines, *stranded_lines(stranded, len(stranded))]


def _unsummed(found: CheckedArchive) -> str:
    """Return what is not proven where checksums are not told."""
    text = f"of {counted(found.unsummed, 'object')} the checksum is not told"
    if not found.scope.reads:
        return f"{text} (--deep computes it)"
    return (
        f"{text}, as the commit log of an older Towpath has none: their records are proven, their"
        " statistics and indexes are not; `towpath archive compact --now` writes them again, with"
        " a checksum"
    )


def _unsummed_log(found: CheckedArchive) -> str:
    """Return what of the commit log has no checksum of its own, and what guards it."""
    return (
        f"without a checksum of their own, as an older Towpath wrote them: {found.unsummed_entries}"
        f" of {counted(found.entries, 'version')} of the commit log,"
        f" {counted(found.unsummed_checkpoints, 'checkpoint')}; if such a version is changed, only"
        " the one behind it tells"
    )


def _row(partition: PartitionId, each: CheckedPartition) -> tuple[Text | str, ...]:
    return (
        each.topic,
        numbered(partition),
        count(each.segments),
        count(each.records),
        count(each.compared),
        count(each.gone),
        each.uncompared,
    )


def _sentence(found: CheckedArchive, data: CheckedArchiveJson) -> str:
    scope = found.scope
    how = "no object was looked at" if found.looked_at_nothing else "whole"
    if found.problems:
        how = counted(len(found.problems), "problem")
    text = f"version {found.version}: {how}; the commit log has {count(found.entries)}"
    text += f" entries, {counted(found.segments, 'segment')} in {counted(found.objects, 'object')}"
    if scope.reads:
        records = sum(each.records for each in found.partitions.values())
        text += f", {count(records)} records in {size(found.bytes)} read"
    else:
        text += ", none of them read (--deep reads them)"
    if scope.source:
        compared = sum(each.compared for each in found.partitions.values())
        text += f", {count(compared)} equal at the source"
    if scope.share < 1:
        text += f"; a sample of {scope.share:.2%}, --seed {scope.seed}"
    return f"{text}; {span(data['seconds'])}"
