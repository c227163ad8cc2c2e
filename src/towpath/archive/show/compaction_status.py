"""The compaction lines of `archive status`. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.archive.show.compaction_result import stranded_lines
from towpath.archive.show.status_shapes import CompactionStatusJson, LastCompactionJson
from towpath.archive.status.compaction_status import CompactionStatus
from towpath.archive.status.status import ArchiveStatus
from towpath.archive.upkeep.last_compaction import LastCompaction
from towpath.model.amounts import count, counted, size, span
from towpath.runtime.clock import now_ms, readable

_NAMED = 5


def compaction_lines(found: ArchiveStatus) -> Iterator[str]:
    """Yield lines about the compaction: waiting merges, the last result, and failures."""
    now = found.compaction
    yield f"compaction: {_waiting(now)}{_when(now)}"
    lease = now.lease
    if found.compacts and lease is not None:
        yield f"compaction: `archive {lease.command}` runs {lease.where}"
    if now.last is not None:
        yield from _last(now.last)
    elif now.merged is not None:
        yield f"compaction: segments were merged last {_ago(now.merged)}"
    else:
        yield "compaction: nothing was ever merged"
    if now.waiting:
        yield (
            f"compaction: {counted(now.waiting, 'object')} without segments wait for their deletion"
            " (`grace`, registered readers, or `delete: false`)"
        )


def _waiting(now: CompactionStatus) -> str:
    if not now.merges:
        return "nothing qualifies now"
    return (
        f"{counted(now.segments, 'segment')} of {size(now.bytes)} qualify for"
        f" {counted(now.merges, 'merge')}"
    )


def _when(now: CompactionStatus) -> str:
    if not now.rules:
        return ", by default rules; the file has none, so only `archive compact` merges"
    if now.next is None:
        return "; no rule has a schedule, so only `archive compact` applies them"
    return f"; a run applies rules next at {readable(now.next)}"


def _last(last: LastCompaction) -> Iterator[str]:
    how = "ended" if last.complete else "was stopped" if last.stopped else "had failures"
    merged = (
        f"{counted(last.read, 'segment')} became {count(last.written)}"
        if last.read
        else "nothing was merged"
    )
    deleted = f", {counted(last.deleted, 'object')} deleted" if last.deleted else ""
    yield f"compaction: the last one {how} {_ago(last.ended)}: {merged}{deleted} ({last.where})"
    if last.unmended:
        yield "compaction: the one before it had failures; it was stopped before it could mend them"
    if last.why:
        yield f"compaction: it failed: {last.why}"
    for at, why in sorted(last.failed.items())[:_NAMED]:
        yield f"✗ {at} was not compacted: {why}"
    if last.failures > _NAMED:
        yield f"… and {counted(last.failures - _NAMED, 'more partition')}"
    yield from (f"✗ {each}" for each in stranded_lines(last.stranded, last.strays))


def _ago(at: int) -> str:
    return f"{readable(at)}, {span(max(0.0, (now_ms() - at) / 1000))} ago"


def compaction_status_data(found: ArchiveStatus) -> CompactionStatusJson:
    """Return the status of the compaction for programs."""
    now = found.compaction
    return {
        "running": found.compacts,
        "rules": now.rules,
        "next": now.next,
        "qualifying": {"merges": now.merges, "segments": now.segments, "bytes": now.bytes},
        "objects_waiting": now.waiting,
        "merged": now.merged,
        "last": _last_data(now.last) if now.last else None,
    }


def _last_data(last: LastCompaction) -> LastCompactionJson:
    return {
        "began": last.began,
        "ended": last.ended,
        "command": last.command,
        "host": last.host,
        "pid": last.pid,
        "stopped": last.stopped,
        "why": last.why,
        "version": last.version,
        "read": last.read,
        "written": last.written,
        "bytes": last.bytes,
        "deleted": last.deleted,
        "failures": last.failures,
        "failed": dict(last.failed),
        "strays": last.strays,
        "stranded": list(last.stranded),
        "unmended": last.unmended,
        "complete": last.complete,
    }
