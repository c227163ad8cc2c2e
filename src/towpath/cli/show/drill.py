"""The report of a restore as one HTML page that needs nothing else, for whoever keeps evidence.

The page holds its facts as JSON, and the SHA-256 of these bytes. Names of topics, errors and notes
come from elsewhere, so every text is escaped, and the page has no script.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from towpath.model.amounts import count, size, span

_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}"
    "th,td{border:1px solid #8884;padding:.25rem .5rem;text-align:left;vertical-align:top}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".bad{background:#d3330022}.good{background:#2a890022}"
    "code,pre{font:13px ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}"
    "@media print{details{display:block}}"
)
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
    """Return the page of a restore.

    Args:
        facts: The result of the restore as data, as its JSON report has it.
    """
    told = canonical(facts)
    digest = hashlib.sha256(told.encode()).hexdigest()
    body = "\n".join(_body(facts, digest))
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        f"<title>{_text(_title(facts))}</title><style>{_STYLE}</style></head><body>\n"
        f"{body}\n"
        "<details><summary>All facts, as JSON</summary>\n"
        f'<pre id="facts">{_text(told)}</pre></details>\n'
        "</body></html>\n"
    )


def canonical(facts: Mapping[str, Any]) -> str:
    """Return facts as the JSON text of which the digest is made."""
    return json.dumps(facts, sort_keys=True, indent=1, ensure_ascii=False)


def _title(facts: Mapping[str, Any]) -> str:
    return f"Restore {facts['restore']}"


def _body(facts: Mapping[str, Any], digest: str) -> Iterator[str]:
    done = "complete" if facts["complete"] else "not complete"
    yield f"<h1>{_text(_title(facts))}</h1>"
    yield f'<p class="{"good" if facts["complete"] else "bad"}"><strong>{done}</strong></p>'
    yield from _verdict(facts["comparison"])
    yield _table(("what", "value"), _summary(facts))
    yield f"<p>SHA-256 of the facts at the end of this page: <code>{digest}</code></p>"
    yield _partitions(facts["partitions"])
    yield from _comparison(facts["comparison"]["partitions"])
    yield from _gaps(facts["partitions"])
    for title, texts in (
        ("Left out, late or lost", [*facts["left_out"], *_troubles(facts["partitions"])]),
        ("Notes", facts["notes"]),
    ):
        if texts:
            items = "".join(f"<li>{_text(each)}</li>" for each in dict.fromkeys(texts))
            yield f"<h2>{title}</h2><ul>{items}</ul>"


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
    return f"<h2>Partitions</h2>{_table(_HEADERS, found, _NUMBERS)}"


def _verdict(compared: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentence that says what this page proves."""
    rows = compared["partitions"]
    equal = sum(row["state"] == "equal" for row in rows)
    if compared["proven"]:
        text = f"proven by digests: the target has what the archive holds ({equal} partitions)"
    elif rows:
        text = f"not proven: {equal} of {len(rows)} partitions have what the archive holds"
    else:
        why = compared["why"] or "what was restored was not read back (restore run --verify)"
        text = f"not proven: {why}; the numbers below are what was written"
    yield f'<p class="{"good" if compared["proven"] else "bad"}"><strong>{_text(text)}</strong></p>'


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
        yield f"<h2>Comparison with the archive</h2><p>{_text(_HOW)}</p>"
        yield _table(_COMPARED, found, len(_COMPARED) - 3)


def _gaps(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    found = [
        (f"{row['topic']}-{row['partition']}", f"{gap['first']} to {gap['end'] - 1}", gap["why"])
        for row in rows
        for gap in row["gaps"]
    ]
    if found:
        yield f"<h2>Lost offsets</h2>{_table(('partition', 'offsets', 'why'), found)}"


def _troubles(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["error"]:
            yield f"{row['topic']}-{row['partition']}: {row['error']}"


def _table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], numbers: int | None = None
) -> str:
    head = "".join(f"<th>{_text(each)}</th>" for each in headers)
    made = [f"<table><tr>{head}</tr>"]
    for row in rows:
        cells = "".join(
            f"<td{_class(place, numbers)}>{_text(each)}</td>" for place, each in enumerate(row)
        )
        made.append(f"<tr>{cells}</tr>")
    return "\n".join([*made, "</table>"])


def _class(place: int, numbers: int | None) -> str:
    return ' class="n"' if numbers is not None and place >= numbers else ""


def _text(value: object) -> str:
    return escape(str(value), quote=True)
