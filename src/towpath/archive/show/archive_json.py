"""An archive and its segments as JSON."""

from __future__ import annotations

from towpath.archive.model import GapCounts, Segment, SegmentPlace
from towpath.archive.read.listing import SegmentLook
from towpath.archive.show.compaction_status import compaction_status_data
from towpath.archive.show.status_shapes import (
    ArchivedPartitionJson,
    ArchivedSchemasJson,
    ArchiveStatusJson,
    GapsJson,
    SafeToDeleteJson,
    SegmentDigestJson,
    SegmentJson,
    SegmentPlaceJson,
    ShownSegmentJson,
)
from towpath.archive.status.deletable import DeleteAnswer
from towpath.archive.status.status import ArchivedPartition, ArchiveStatus, SchemaTotals
from towpath.model.digest import Digest


def status_data(found: ArchiveStatus) -> ArchiveStatusJson:
    """Return an archive's status, for programs."""
    return {
        "log": found.where,
        "version": found.version,
        "time": found.time,
        "alive": found.runs,
        "run_trouble": found.run_trouble,
        "source_trouble": found.source,
        "objects": found.objects,
        "size": found.size,
        "exposed_seconds": round(found.exposed, 1),
        "compaction": compaction_status_data(found),
        "schemas": _schemas_data(found.schemas) if found.schemas is not None else None,
        "notes": list(found.notes),
        "safe_to_delete": _deletable_data(found.deletable) if found.deletable is not None else None,
        "partitions": [_partition_data(each) for each in found.partitions],
    }


def _deletable_data(answer: DeleteAnswer) -> SafeToDeleteJson:
    return {
        "safe": answer.safe,
        "time": answer.at,
        "partitions": answer.partitions,
        "why": list(answer.why),
    }


def _schemas_data(schemas: SchemaTotals) -> ArchivedSchemasJson:
    return {
        "registry": schemas.registry,
        "subjects": schemas.subjects,
        "versions": schemas.versions,
        "objects": schemas.objects,
        "size": schemas.size,
        "version": schemas.version,
    }


def _partition_data(each: ArchivedPartition) -> ArchivedPartitionJson:
    return {
        "cluster": each.id.cluster,
        "topic": each.topic,
        "topic_id": each.id.source.topic_id,
        "partition": each.id.partition,
        "history": each.id.history,
        "fork": each.fork,
        "state": str(each.state),
        "begin": each.begin,
        "archived_to": each.archived_to,
        "log_start": each.ends.log_start,
        "stable_end": each.ends.stable_end,
        "lag": each.lag,
        "exposed_seconds": round(each.exposed, 1),
        "segments": each.segments,
        "records": each.records,
        "bytes": each.raw_bytes,
        "gaps": _gaps_data(each.gaps),
        "unread": each.unread,
        "why": each.why,
    }


def _gaps_data(gaps: GapCounts) -> GapsJson:
    return {
        "marker": gaps.marker,
        "aborted": gaps.aborted,
        "compacted": gaps.compacted,
        "retention": gaps.retention,
        "filtered": gaps.filtered,
        "erased": gaps.erased,
        "lost": gaps.lost,
    }


def segment_data(each: Segment) -> SegmentJson:
    """Return a segment for programs."""
    return {
        "cluster": each.cluster,
        "topic_id": each.partition_id.source.topic_id,
        "topic": each.topic,
        "partition": each.partition,
        "level": each.level,
        "start": each.start,
        "end": each.end,
        "raw_bytes": each.raw_bytes,
        "first": each.first,
        "last": each.last,
        "min_time": each.min_time,
        "max_time": each.max_time,
        "digest": _digest_data(each.digest),
        "gaps": _gaps_data(each.gaps),
        "format": str(each.format),
        "place": _place_data(each.place) if each.place is not None else None,
        "created": each.created,
        "history": each.partition_id.history,
    }


def _digest_data(digest: Digest) -> SegmentDigestJson:
    return {
        "records": digest.records,
        "unordered": f"{digest.unordered:016x}",
        "ordered": f"{digest.ordered:016x}",
    }


def _place_data(place: SegmentPlace) -> SegmentPlaceJson:
    return {
        "key": place.key,
        "size": place.size,
        "first_row_group": place.first_row_group,
        "row_groups": place.row_groups,
        "storage_class": place.storage_class,
        "crc": place.crc,
    }


def look_data(each: SegmentLook) -> ShownSegmentJson:
    """Return a segment for programs, and whether its object agrees with its log entry."""
    return {**segment_data(each.segment), "object_says_the_same": each.equal}
