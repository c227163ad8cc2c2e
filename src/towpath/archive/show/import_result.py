"""The display of an import from kafka-replicator."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from towpath.archive.imports.planned_import import ImportedPartition, ReplicatorImport
from towpath.archive.imports.replicator_rows import EmptyRules
from towpath.archive.show.reading_shapes import ImportJson
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import console, line
from towpath.model.amounts import count, counted, shortened, size

_HEADERS = ("topic", "partition", "offsets", "imported to", "records", "holes", "why")
_HOLES = 5


def show_progress(found: ReplicatorImport) -> None:
    """Print on stderr how much is left to import, if stderr is a terminal."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        return
    left = [piece for each in found.partitions for piece in each.left]
    todo = sum(each.source.size for each in left if each.source is not None)
    records = sum(each.records for each in found.partitions)
    screen.print(line(f"{count(records)} records imported, {size(todo)} of objects left"))


def import_picture(done: ReplicatorImport, rules: EmptyRules) -> RenderableType:
    """Return the result of an import, for people."""
    table = Grid(
        _HEADERS,
        map(_row, done.partitions),
        right=("partition", "imported to", "records"),
        below=("why",),
    )
    return Group(table, "", *map(line, _notes(done, rules)))


def _row(each: ImportedPartition) -> tuple[str, ...]:
    holes = each.pieces.holes
    single = sum(hole.end - hole.start == 1 for hole in holes)
    told = [each.why]
    if each.lost:
        longer = [hole for hole in holes if hole.end - hole.start > 1]
        ranges = shortened([f"{hole.start} to {hole.end - 1}" for hole in longer], _HOLES)
        told.append(f"no object has {counted(each.lost, 'offset')}, which count as lost: {ranges}")
    if each.pieces.overlapping:
        told.append(
            f"{counted(each.pieces.overlapping, 'offset')} were in several objects, and are there"
            " once"
        )
    return (
        each.topic,
        str(each.id.partition),
        f"{each.pieces.pieces[0].start} to {each.end - 1}",
        count(each.at),
        count(each.records),
        f"{single} single, {len(holes) - single} longer" if holes else "",
        "; ".join(filter(None, told)),
    )


def _notes(done: ReplicatorImport, rules: EmptyRules) -> Iterator[str]:
    doubts = done.doubts
    records = sum(each.records for each in done.partitions)
    yield (
        f"{count(records)} records of {counted(len(done.partitions), 'partition')} imported from"
        f" region {done.region}; the archive is at version {done.version}"
    )
    for number, what, became in (
        (doubts.empty_keys, "key", rules.keys.value),
        (doubts.empty_values, "value", rules.values.value),
        (doubts.empty_header_values, "header value", "empty"),
    ):
        if number:
            yield (
                f"{counted(number, what)} {'was' if number == 1 else 'were'} empty or null, which"
                f" kafka-replicator does not tell apart; now {became}"
            )
    if doubts.no_time:
        yield f"{counted(doubts.no_time, 'record')} had no timestamp, and have none"
    single = sum(
        hole.end - hole.start == 1 for each in done.partitions for hole in each.pieces.holes
    )
    if single:
        what = counted(single, "single offset")
        yield f"{what} between two objects taken for transaction markers"
    yield "all records say CreateTime and have no leader epoch, as its files do not tell them"
    if done.passed_count:
        named = ", ".join(done.passed)
        verb = "is no segment" if done.passed_count == 1 else "are no segments"
        yield f"{counted(done.passed_count, 'object')} {verb}: {named}"


def import_data(done: ReplicatorImport, rules: EmptyRules) -> ImportJson:
    """Return the result of an import, for programs."""
    return {
        "region": done.region,
        "version": done.version,
        "complete": done.complete,
        "empty_keys_became": str(rules.keys),
        "empty_values_became": str(rules.values),
        "doubts": {
            "empty_keys": done.doubts.empty_keys,
            "empty_values": done.doubts.empty_values,
            "empty_header_values": done.doubts.empty_header_values,
            "no_time": done.doubts.no_time,
        },
        "passed_over": done.passed_count,
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.id.partition,
                "cluster": each.id.cluster,
                "topic_id": each.id.topic_id,
                "begin": each.pieces.pieces[0].start,
                "end": each.end,
                "imported_to": each.at,
                "records": each.records,
                "overlapping": each.pieces.overlapping,
                "holes": [[hole.start, hole.end] for hole in each.pieces.holes],
                "lost": each.lost,
                "why": each.why,
            }
            for each in done.partitions
        ],
    }
