"""Restores as JSON: their plans, their states, and their results."""

from __future__ import annotations

import time
from collections.abc import Sequence

from towpath.archive.restore.cost import RestoreCost
from towpath.archive.restore.limits import thawing_time
from towpath.archive.restore.log_watch import Heard
from towpath.archive.restore.plan import RestorePlan
from towpath.archive.restore.progress import RestoredArchive, RestoreProgress, RestoreRow
from towpath.archive.restore.proof.verdict import PartProof
from towpath.archive.restore.status import RestoreStatus
from towpath.archive.restore.thawing import Thawing
from towpath.archive.restore.waking import Notified
from towpath.archive.show.restore_shapes import (
    HeardJson,
    NotificationsJson,
    RestoreCostJson,
    RestoredArchiveJson,
    RestoredGroupJson,
    RestoredPartitionJson,
    RestoredPositionJson,
    RestorePlanJson,
    RestoreProofJson,
    RestoreRunJson,
    RestoreStatusJson,
    ThawingJson,
    TopicToRestoreJson,
)
from towpath.cli.show.schema_ids import ids_as_json
from towpath.groups.model import GroupPosition, GroupReport
from towpath.model.digest import Digest
from towpath.model.reasons import as_data
from towpath.plan.kinds import as_data as step_data
from towpath.plan.model import note_data, problem_data
from towpath.runtime.clock import now_ms, readable


def plan_data(plan: RestorePlan) -> RestorePlanJson:
    """Return a plan for programs."""
    scope, steps = plan.scope, plan.plan
    return {
        "restore": plan.task.name,
        "archive": {
            "store": plan.task.store.url,
            "region": scope.region,
            "version": scope.version,
            "time": _time(scope.at),
        },
        "target": steps.target.as_data() if steps.target else None,
        "topics": {str(name): str(target) for name, target in steps.topics.items()},
        "steps": [step_data(step) for step in steps.steps],
        "notes": [note_data(note) for note in steps.notes],
        "problems": [problem_data(problem) for problem in steps.problems],
        "to_restore": _to_restore(plan),
        "groups": sorted(scope.groups),
        "cost": _cost_data(plan.cost) if plan.cost is not None else None,
    }


def _to_restore(plan: RestorePlan) -> list[TopicToRestoreJson]:
    return [
        {
            "topic": name,
            "target": topic.target,
            "partitions": len(topic.parts),
            "records": topic.records,
            "filtered": topic.filtered,
            "bytes": topic.bytes,
        }
        for name, topic in plan.scope.topics.items()
    ]


def _cost_data(cost: RestoreCost) -> RestoreCostJson:
    return {
        "objects": cost.objects,
        "object_bytes": cost.bytes,
        "requests": cost.requests,
        "seconds": round(cost.seconds, 1),
        "price": None if cost.price is None else round(cost.price, 4),
        "currency": cost.currency,
    }


def status_data(seen: RestoreStatus) -> RestoreStatusJson:
    """Return the state of a restore for programs."""
    return {
        "restore": seen.task.name,
        "source": seen.task.source,
        "region": seen.scope.region,
        "archive": _heard_data(seen.heard) if seen.heard is not None else None,
        "version": seen.scope.version,
        "complete": seen.complete,
        "held_back": {name: list(keys) for name, keys in seen.held.items()},
        "partitions": [row_data(row) for row in seen.rows],
        "schema_ids": ids_as_json(seen.ids) if seen.ids is not None else None,
    }


def row_data(row: RestoreRow) -> RestoredPartitionJson:
    """Return a partition of a restore for programs."""
    return {
        "source": row.source,
        "topic": row.tp.topic,
        "partition": row.tp.partition,
        "target": row.target,
        "state": str(row.state),
        "first": row.part.start,
        "end": row.part.end,
        "restored_to": row.at,
        "records": row.records,
        "archived_records": row.part.records,
        "archived_bytes": row.part.bytes,
        "filtered": row.part.filtered,
        "mode": row.mode,
        "reason": row.reason,
        "error": row.error,
        "codes": list(row.codes),
        "gaps": [
            {"first": gap.first, "end": gap.end, "why": gap.cause, "skipped": gap.went_on}
            for gap in row.gaps
        ],
    }


def _heard_data(heard: Heard) -> HeardJson:
    return {
        "region": heard.region,
        "version": heard.version,
        "time": _time(heard.at),
        "state": str(heard.state),
        "why": heard.why,
        "codes": list(heard.codes),
        "not_archived": heard.behind,
    }


def thawing_data(seen: Thawing) -> ThawingJson:
    """Return cold objects of a restore for programs; bytes, days and seconds."""
    return {
        "restore": seen.task.name,
        "requested": seen.wish.asks,
        "days": seen.wish.days,
        "tier": seen.wish.speed.value,
        "readable": seen.readable,
        "missing": seen.missing,
        "cold": [
            {
                "storage_class": name,
                "objects": len(some),
                "bytes": sum(each.size for each in some),
                "thawing": sum(each.thawing for each in some),
                "takes_up_to": thawing_time(name),
            }
            for name, some in seen.classes.items()
        ],
        "failed": dict(seen.failed),
    }


def report(
    progress: RestoreProgress, name: str, target: Sequence[str], *, stop: bool
) -> RestoreRunJson:
    """Return the result of a restore as data.

    Args:
        progress: How far it came.
        name: Its name.
        target: The addresses of the target.
        stop: Whether the user stopped it.
    """
    seconds = time.monotonic() - progress.began
    return {
        "restore": name,
        "archives": [_archive_data(each) for each in progress.archives],
        "target": list(target),
        "began": readable(int(now_ms() - 1000 * seconds)),
        "ended": readable(now_ms()),
        "seconds": round(seconds, 1),
        "stopped": stop,
        "complete": progress.complete,
        "records": sum(row.records for row in progress.rows),
        "filtered": sum(row.part.filtered for row in progress.rows),
        "left_out": list(progress.left_out),
        "trouble": progress.trouble,
        "notes": [*progress.notes, *([progress.takeover] if progress.takeover else [])],
        "sources": [_heard_data(each) for each in progress.heard],
        "comparison": {
            "proven": progress.proven,
            "why": progress.unproven,
            "partitions": [proof_data(each) for each in progress.proofs],
        },
        "notifications": _notified_data(progress.notified) if progress.notified else None,
        "partitions": [row_data(row) for row in progress.rows],
        "groups": [_group_data(each) for each in progress.groups.groups],
        "schemas": list(progress.schemas),
    }


def _archive_data(archive: RestoredArchive) -> RestoredArchiveJson:
    return {
        "source": archive.source,
        "store": archive.store,
        "region": archive.region,
        "version": archive.version,
        "time": _time(archive.at),
    }


def proof_data(proof: PartProof) -> RestoreProofJson:
    """Return the comparison of a partition for programs."""
    return {
        "source": proof.source,
        "topic": proof.topic,
        "partition": proof.partition,
        "target": proof.target,
        "state": str(proof.state),
        "first": proof.first,
        "end": proof.end,
        "records_archived": proof.archived.records,
        "records_restored": proof.restored.records,
        "digest_archived": _digest(proof.archived),
        "digest_restored": _digest(proof.restored),
        "ranges": proof.ranges,
        "bytes_read": proof.bytes,
        "records_of_others": proof.others,
        "why": proof.why,
    }


def _digest(digest: Digest) -> str:
    """Return a digest as text: the sum of all hashes, and the fold of them in order."""
    return f"{digest.unordered:016x}.{digest.ordered:016x}"


def _notified_data(notified: Notified) -> NotificationsJson:
    return {
        "queue": notified.queue,
        "messages": notified.messages,
        "objects": notified.objects,
        "poison": notified.poison,
        "trouble": notified.trouble,
    }


def _group_data(group: GroupReport) -> RestoredGroupJson:
    return {
        "group": group.group.name,
        "kind": str(group.group.kind),
        "target": group.mirror_group,
        "positions": [_position_data(each) for each in group.positions],
    }


def _position_data(each: GroupPosition) -> RestoredPositionJson:
    return {
        "topic": each.tp.topic,
        "partition": each.tp.partition,
        "archived": each.source,
        "gets": None if each.answer is None else each.answer.offset,
        "exactness": None if each.answer is None else str(each.answer.exactness),
        "outcome": str(each.outcome),
        "reason": None if each.reason is None else as_data(each.reason),
    }


def _time(at: int) -> str | None:
    return readable(at) if at else None
