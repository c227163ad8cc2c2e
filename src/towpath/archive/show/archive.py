"""The display of an archive's status and segments. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.archive.model import GapCounts, GapKind, PartitionId, Segment
from towpath.archive.read.listing import SegmentLook
from towpath.archive.show.archive_run import WORST, archive_sign
from towpath.archive.show.compaction_status import compaction_lines
from towpath.archive.status.status import ArchivedPartition, ArchiveStatus
from towpath.archive.write.progress import ArchiveRowState
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted, size, span
from towpath.runtime.clock import now_ms, readable

_STATUS = ("topic", "partition", "archived to", "lag", "exposed", "segments", "records", "bytes",
           "gaps", "why")  # fmt: skip
_LIFE = 8
"""Characters of the id that tell a topic from others of its name; `--life` takes as many."""
_SEGMENTS = (
    "topic", "partition", "level", "offsets", "records", "bytes", "gaps", "times", "object",
)  # fmt: skip


def status_picture(found: ArchiveStatus, most: int | None = None) -> RenderableType:
    """Return an archive's status, for people.

    Args:
        found: How it stands.
        most: Most partitions to show; by default all.
    """
    rows = sorted(
        found.partitions, key=lambda each: (WORST[each.state], -each.lag, each.topic, each.id)
    )
    shown = rows[:most]
    namesakes = _namesakes(found)
    table = Grid(
        _STATUS,
        (_status_row(each, namesakes) for each in shown),
        right=("partition", "archived to", "lag", "exposed", "segments", "records", "bytes"),
        spare=("segments", "exposed"),
        below=("why",),
    )
    more = [line(f"… and {len(rows) - len(shown)} more")] if len(rows) > len(shown) else []
    return Group(*map(line, [*_trouble(found), *_head(found)]), "", table, *more)


def _trouble(found: ArchiveStatus) -> list[str]:
    """Return what somebody should do something about, before anything else."""
    lines = [f"✗ run: {found.run_trouble}"] if found.run_trouble else []
    lease = found.lease
    if lease is not None and not lease.over and not found.runs:
        lines.append(f"✗ run: gives no sign of life since {readable(lease.beat)}, {lease.where}")
    number = sum(each.state is ArchiveRowState.TROUBLE for each in found.partitions)
    if number:
        lines.append(f"✗ {counted(number, 'partition')} in trouble; the table has why")
    for text, kinds in (("before they were archived", "retention"), ("from the archive", "lost")):
        lost = sum(getattr(each.gaps, kinds) for each in found.partitions)
        if lost:
            lines.append(f"✗ {counted(lost, 'offset')} lost {text} (`gaps`: {kinds})")
    unread = sum(each.unread for each in found.partitions)
    if unread:
        lines.append(f"✗ {counted(unread, 'offset')} went with topics before they were archived")
    last = found.compaction.last
    if last is not None and (last.failing or last.strays):
        lines.append("✗ compaction: it had failures, or found objects in no entry; see below")
    if found.source:
        lines.append(f"✗ source not asked: {found.source}; ends are those of the commit log")
    return lines


def _namesakes(found: ArchiveStatus) -> frozenset[str]:
    """Return the names that several topics have, as those that were deleted and made again."""
    names = Counter(topic for topic, _ in {(each.topic, each.id.source.topic_id)
                                           for each in found.partitions})  # fmt: skip
    return frozenset(name for name, number in names.items() if number > 1)


def _head(found: ArchiveStatus) -> list[str]:
    records = sum(each.records for each in found.partitions)
    raw = sum(each.raw_bytes for each in found.partitions)
    lines = [
        f"{found.where}: version {found.version}, written {readable(found.time)}"
        f" ({span((now_ms() - found.time) / 1000)} ago)",
        f"{counted(len(found.partitions), 'partition')}, {count(records)} records,"
        f" {size(raw)} in {counted(found.objects, 'object')} of {size(found.size)};"
        f" lag {count(sum(each.lag for each in found.partitions))},"
        f" exposed {span(found.exposed)}",
    ]
    lease = found.lease
    if lease is not None and found.runs:
        lines.append(f"run: alive {lease.where}")
    elif lease is not None and lease.over:
        lines.append(f"run: none is alive; the last one, {lease.where}, ended"
                     f" {readable(lease.beat)}")  # fmt: skip
    lines += compaction_lines(found)
    if (schemas := found.schemas) is not None:
        lines.append(
            f"schemas: {counted(schemas.subjects, 'subject')} with"
            f" {counted(schemas.versions, 'version')} of {schemas.registry}, in"
            f" {counted(schemas.objects, 'object')} of {size(schemas.size)}; they changed last in"
            f" version {schemas.version}"
        )
    lines += found.notes
    return [*found.deletable.lines, *lines] if found.deletable is not None else lines


def _status_row(each: ArchivedPartition, namesakes: Collection[str]) -> tuple[Text | str, ...]:
    life = f" ({each.id.source.topic_id[:_LIFE]})" if each.topic in namesakes else ""
    return (
        Text.assemble(archive_sign(each.state), "\u00a0", each.topic, life),
        numbered(each.id),
        count(each.archived_to),
        count(each.lag),
        span(each.exposed) if each.exposed else "-",
        count(each.segments),
        count(each.records),
        size(each.raw_bytes),
        gaps_text(each.gaps),
        each.why or _gone(each),
    )


def _gone(each: ArchivedPartition) -> str:
    """Return which topic it is that nothing more comes of, as another may have its name."""
    if each.state is not ArchiveRowState.GONE:
        return ""
    return f"the source has no topic with the id {each.id.topic_id} that `topics` takes"


def numbered(partition: PartitionId) -> str:
    """Return a partition's number, with its history's number if there are several: `3~1`."""
    number = partition.history
    return f"{partition.partition}~{number}" if number else str(partition.partition)


def gaps_text(gaps: GapCounts) -> str:
    """Return the number of offsets without a record, by kind: `3 marker, 5 aborted`."""
    return ", ".join(f"{count(gaps.get(kind))} {kind}" for kind in GapKind if gaps.get(kind))


def segments_picture(found: Sequence[Segment]) -> RenderableType:
    """Return a table of segments, for people."""
    if not found:
        return line("no segment")
    return Grid(
        _SEGMENTS,
        map(_segment_row, found),
        right=("partition", "level", "records", "bytes"),
        spare=("times", "gaps"),
        below=("object",),
    )


def _segment_row(each: Segment) -> tuple[str, ...]:
    times = ""
    if each.min_time is not None and each.max_time is not None:
        times = f"{readable(each.min_time)} to {readable(each.max_time)}"
    return (
        each.topic,
        numbered(each.partition_id),
        str(each.level),
        f"{each.start} to {each.end - 1}",
        count(each.records),
        size(each.raw_bytes),
        gaps_text(each.gaps),
        times,
        each.place.key if each.place is not None else "-",
    )


def look_picture(found: Sequence[SegmentLook]) -> RenderableType:
    """Return the segments of an object and its footer's digests, for people."""
    lines: list[RenderableType] = [segments_picture([each.segment for each in found])]
    for each in found:
        lines.append("")
        lines.append(line(f"digest {each.segment.digest.ordered:016x}; the object says"
                          f" {'the same' if each.equal else 'something else'}"))  # fmt: skip
        if each.footer is None:
            continue
        lines += [
            line(
                f"  part {part.first} to {part.last}: {count(part.records)} records,"
                f" {size(part.size)} at byte {count(part.at)}"
            )
            for part in each.footer.parts
        ]
        lines += [line(f"  gap {gap.first} to {gap.end - 1}: {gap.kind}")
                  for gap in [*each.footer.gaps][:_GAPS]]  # fmt: skip
    return Group(*lines)


_GAPS = 20
"""Most gaps of a segment that are shown."""
