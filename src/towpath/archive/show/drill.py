"""The report of a restore as one HTML page, kept as evidence of a drill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from towpath.cli.show.page import listed, page, table, text, verdict
from towpath.model.amounts import count, size, span

_HEADERS = (
    "source", "partition", "on the target", "state", "offsets", "archived from", "archived to",
    "restored to", "records archived", "records restored",
)  # fmt: skip
_COMPARED = (
    "partition", "on the target", "result", "archived offsets", "digest in the archive",
    "digest on the target", "records archived", "records read back", "records of others",
)  # fmt: skip
_HOW = (
    "What the restore wrote was read back from the target as consumers see it, before the target"
    " may delete or compact any of it. A digest covers keys, values, headers and times of all"
    " records: their hashes added up, and folded in their order. Those of the archive are from its"
    " commit log, and for a part of a segment from its object."
)
_NUMBERS = 5
"""The first of the columns with numbers."""


def drill_page(facts: Mapping[str, Any]) -> str:
    """Return the HTML page about a restore.

    Args:
        facts: The result of the restore as data, as its JSON report has it.
    """
    return page(_title(facts), facts, _body)


def _title(facts: Mapping[str, Any]) -> str:
    return f"Restore {facts['restore']}"


def _body(facts: Mapping[str, Any]) -> Iterator[str]:
    done = "complete" if facts["complete"] else "not complete"
    yield f"<h1>{text(_title(facts))}</h1>"
    yield verdict(done, good=facts["complete"])
    yield from _verdict(facts["comparison"])
    yield table(("what", "value"), _summary(facts))
    yield _partitions(facts["partitions"])
    yield from _comparison(facts["comparison"]["partitions"])
    yield from _gaps(facts["partitions"])
    yield from listed(
        "Left out, late or lost", [*facts["left_out"], *_troubles(facts["partitions"])]
    )
    yield from listed("Notes", facts["notes"])


def _summary(facts: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    seconds, rows = facts["seconds"], facts["partitions"]
    records = sum(row["records"] for row in rows)
    archived = sum(row["archived_bytes"] for row in rows if row["state"] == "restored")
    for each in facts["archives"]:
        where = f"{each['store']}, region {each['region']}"
        yield f"archive {each['source']}".strip(), where
        yield "version", f"{each['version']} of {each['time'] or 'an unknown time'}"
    yield "target", f"{', '.join(facts['target'])}"
    yield "began", facts["began"]
    yield "ended", facts["ended"]
    yield "time taken", span(seconds)
    yield "partitions restored", f"{sum(r['state'] == 'restored' for r in rows)} of {len(rows)}"
    yield "records restored", count(records)
    yield "bytes of restored partitions, uncompressed", size(archived)
    if seconds:
        yield "rate", f"{size(archived / seconds)}/s, {count(int(records / seconds))} records/s"
    if facts["trouble"]:
        yield "trouble", facts["trouble"]


def _partitions(rows: Iterable[Mapping[str, Any]]) -> str:
    found = [
        (
            row["source"],
            f"{row['topic']}-{row['partition']}",
            row["target"],
            row["state"],
            row["mode"],
            *(count(row[key]) for key in ("first", "end", "restored_to")),
            count(row["archived_records"]),
            count(row["records"]),
        )
        for row in rows
    ]
    return f"<h2>Partitions</h2>{table(_HEADERS, found, _NUMBERS)}"


def _verdict(compared: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentence that says what this page proves."""
    rows = compared["partitions"]
    equal = sum(row["state"] == "equal" for row in rows)
    if compared["proven"]:
        told = f"proven by digests: the target has what the archive holds ({equal} partitions)"
    elif rows:
        told = f"not proven: {equal} of {len(rows)} partitions have what the archive holds"
    else:
        why = compared["why"] or "what was restored was not read back (restore run --verify)"
        told = f"not proven: {why}; the numbers below are what was written"
    yield verdict(told, good=compared["proven"])


def _comparison(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    found = [
        (
            row["topic"] if row["partition"] is None else f"{row['topic']}-{row['partition']}",
            row["target"],
            f"{row['state']}: {row['why']}" if row["why"] else row["state"],
            f"{row['first']} to {row['end'] - 1}" if row["end"] > row["first"] else "",
            row["digest_archived"],
            row["digest_restored"],
            count(row["records_archived"]),
            count(row["records_restored"]),
            count(row["records_of_others"]),
        )
        for row in rows
    ]
    if found:
        yield f"<h2>Comparison with the archive</h2><p>{text(_HOW)}</p>"
        yield table(_COMPARED, found, len(_COMPARED) - 3)


def _gaps(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    found = [
        (f"{row['topic']}-{row['partition']}", f"{gap['first']} to {gap['end'] - 1}", gap["why"])
        for row in rows
        for gap in row["gaps"]
    ]
    if found:
        yield f"<h2>Lost offsets</h2>{table(('partition', 'offsets', 'why'), found)}"


def _troubles(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["error"]:
            yield f"{row['topic']}-{row['partition']}: {row['error']}"
