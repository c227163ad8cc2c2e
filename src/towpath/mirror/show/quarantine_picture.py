"""The display of quarantined records; their bytes cannot control a terminal. Pure."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.ledger.quarantine.format import QuarantinedRecord
from towpath.ledger.quarantine.reader import InQuarantine
from towpath.mirror.quarantine.quarantined import QuarantineLook
from towpath.mirror.quarantine.replay import NotReplayed, Replay, ReplayReport
from towpath.mirror.show.quarantine_shapes import (
    QuarantinedJson,
    QuarantinedRecordJson,
    QuarantineListJson,
    RecordBytesJson,
    ReplayJson,
    ReplayMarkJson,
)
from towpath.model.amounts import count, counted, size
from towpath.model.nouns import QUARANTINE
from towpath.model.reasons import as_data
from towpath.model.secret import masked
from towpath.runtime.clock import readable

_HEX_ROW = 16


def list_picture(seen: QuarantineLook, limit: int) -> RenderableType:
    """Return the counts of quarantined records, and the last records."""
    parts: list[RenderableType] = []
    counts = seen.counts
    if not counts:
        there = "" if seen.topic else f" (topic {QUARANTINE} does not exist)"
        parts.append(line(f"no record of link {seen.link} is set aside{there}"))
    else:
        parts.append(
            Grid(
                ("topic", "reason", "quarantined", "replayed", "outdated", "skipped"),
                [
                    (
                        each.topic,
                        each.reason,
                        count(each.quarantined),
                        count(each.replayed),
                        count(each.outdated),
                        count(each.skipped),
                    )
                    for each in counts
                ],
                right=("quarantined", "replayed", "outdated", "skipped"),
            )
        )
    shown = seen.records[len(seen.records) - limit :] if limit < len(seen.records) else seen.records
    if shown and limit:
        parts += [line(""), Grid(
            ("record", "reason", "size", "set aside", "replayed"),
            map(_row, shown),
            right=("size",),
            whole=("set aside", "replayed"),
        )]  # fmt: skip
    parts += [line(text) for text in _notes(seen, limit)]
    return Group(*parts)


def _notes(seen: QuarantineLook, limit: int) -> Iterator[str]:
    earlier = len(seen.records) - limit
    if earlier > 0:
        yield f"{counted(earlier, 'earlier record')} not listed; --limit shows more"
    if seen.foreign:
        yield (
            f"{counted(seen.foreign, 'record')} of topic {QUARANTINE} cannot be read by this"
            " version of Towpath"
        )


def _row(one: InQuarantine) -> tuple[str, ...]:
    replayed = readable(one.replay.at) if one.replay is not None else ""
    replayed = replayed or ("outdated" if one.outdated else "")
    return str(one.key), one.why.kind, size(one.size), readable(one.at), replayed


def as_json(seen: QuarantineLook, limit: int) -> QuarantineListJson:
    """Return the counts and the last records for programs."""
    last = seen.records[max(0, len(seen.records) - limit) :]
    return {
        "link": seen.link,
        "counts": [
            {
                "topic": each.topic,
                "reason": each.reason,
                "quarantined": each.quarantined,
                "replayed": each.replayed,
                "outdated": each.outdated,
                "skipped": each.skipped,
            }
            for each in seen.counts
        ],
        "records": [_facts(one) for one in last],
        "not_listed": len(seen.records) - len(last),
        "foreign": seen.foreign,
    }


def _facts(one: InQuarantine) -> QuarantinedJson:
    return {
        "record": str(one.key),
        "topic": one.key.topic,
        "partition": one.key.partition,
        "offset": one.key.offset,
        "producer_id": one.key.producer_id,
        "reason": as_data(one.why),
        "why": str(one.why),
        "at": one.at,
        "size": one.size,
        "outdated": one.outdated,
        "replayed": None if one.replay is None else _mark(one),
    }


def _mark(one: InQuarantine) -> ReplayMarkJson:
    mark = one.replay
    assert mark is not None  # noqa: S101  # by the caller
    return {"at": mark.at, "target": str(mark.target), "user": mark.user, "host": mark.host}


def record_picture(one: InQuarantine, found: QuarantinedRecord, most: int) -> RenderableType:
    """Return one quarantined record with its bytes.

    Args:
        one: What is known of it.
        found: The record.
        most: Bytes that are shown of its key, its value and the value of each header.
    """
    record = found.record
    time = readable(record.timestamp) if record.timestamp >= 0 else "none"
    lines = [
        f"record      {one.key}",
        f"why         {one.why}",
        f"set aside   {readable(one.at)}",
        f"timestamp   {record.timestamp} ({time})",
    ]
    if one.replay is not None:
        mark = one.replay
        lines.append(
            f"replayed    {readable(mark.at)} to {mark.target} by {mark.user} on {mark.host}"
        )
    lines += _part("key", record.key, most)
    for name, value in record.headers:
        lines += _part(f"header {_text(name) or name.hex()}", value, most)
    lines += _part("value", record.value, most)
    return Group(*map(line, lines))


def _part(name: str, data: bytes | None, most: int) -> Iterator[str]:
    if data is None:
        yield f"{name}: null"
        return
    yield f"{name}: {counted(len(data), 'byte')}"
    text = _text(data[:most])
    if text is not None:
        yield from (f"    {row}" for row in text.split("\n"))
    else:
        yield from _hex(data[:most])
    if len(data) > most:
        yield f"    ... {count(len(data) - most)} more; --bytes shows them"


def _text(data: bytes) -> str | None:
    """Return bytes as text without secrets, `None` if they are no text.

    A character that is cut at the end does not matter.
    """
    for end in range(len(data), max(0, len(data) - 4), -1):
        try:
            text = data[:end].decode()
        except UnicodeDecodeError:
            continue
        seen = sum(each.isprintable() or each in "\n\t\r" for each in text)
        return masked(text) if seen == len(text) else None
    return "" if not data else None


def _hex(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), _HEX_ROW):
        row = data[at : at + _HEX_ROW]
        seen = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"    {at:08x}  {row.hex(' '):<{3 * _HEX_ROW}} {masked(seen)}"


def record_as_json(one: InQuarantine, found: QuarantinedRecord, most: int) -> QuarantinedRecordJson:
    """Return one quarantined record for programs."""
    record = found.record
    return {
        **_facts(one),
        "timestamp": record.timestamp,
        "key": _data(record.key, most),
        "value": _data(record.value, most),
        "headers": [
            {"name": _data(name, most), "value": _data(value, most)}
            for name, value in record.headers
        ],
    }


def _data(data: bytes | None, most: int) -> RecordBytesJson | None:
    if data is None:
        return None
    text = _text(data[:most])
    if text is None:
        return {"base64": base64.b64encode(data[:most]).decode(), "size": len(data)}
    return {"text": text, "size": len(data)}


def plan_picture(due: Sequence[Replay], left: Sequence[NotReplayed]) -> RenderableType:
    """Return the records to replay, and those that cannot be replayed."""
    by_target = Counter(str(each.target) for each in due)
    lines = [f"{name}: replay {counted(n, 'record')}" for name, n in sorted(by_target.items())]
    return Group(*map(line, [*map(str, left), *lines]))


def replay_picture(done: ReplayReport) -> RenderableType:
    """Return the replayed records, and those that were not replayed."""
    lines = [*map(str, done.left), f"{counted(len(done.done), 'record')} replayed"]
    return Group(*map(line, lines))


def replay_as_json(link: str, done: ReplayReport) -> ReplayJson:
    """Return the result of a replay for programs."""
    return {
        "link": link,
        "replayed": [{"record": str(each.key), "target": str(each.target)} for each in done.done],
        "left": [{"record": str(each.key), "why": each.why} for each in done.left],
    }
