"""The final output and report of `towpath run`."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Group

from towpath.cli.options import write_report
from towpath.cli.show.output import console, line, show
from towpath.mirror.run.progress import RunProgress, Wishes
from towpath.mirror.show.deleted import deleted
from towpath.mirror.show.run_shapes import MirrorRunJson, TransformedJson
from towpath.mirror.show.status_json import as_json
from towpath.mirror.show.status_picture import picture, unstable
from towpath.mirror.status.totals import ordered, totals
from towpath.mirror.status.transformed import MODE
from towpath.model.amounts import count, counted, size, span

_LEAST = 20
"""Partitions that a terminal shows at least at the end; those in trouble come first."""


def finish(
    link: str, wishes: Wishes, progress: RunProgress, report: Path | None, *, stopped: bool
) -> int:
    """Show and write the result of a run, and return the exit code."""
    data = _report(link, wishes, progress, stopped=stopped)
    lines = [_sentence(progress, data), *progress.left_out]
    lines += [f"trouble: {progress.trouble}"] if progress.trouble else []
    lines += [*progress.files, *_notes(progress)]
    screen = console()
    most = max(_LEAST, screen.height) if screen.is_terminal else None
    show(Group(*map(line, lines), picture(ordered(progress.rows), most)), data)
    write_report(report, data)
    return 0 if data["complete"] else 3


def _report(link: str, wishes: Wishes, progress: RunProgress, *, stopped: bool) -> MirrorRunJson:
    copied = [progress.copied(row) for row in progress.rows]
    behind = [row for row in progress.rows if not progress.caught_up(row)]
    untold = {row for row in behind if row.topic not in progress.left_out_names}
    still = [row for row in progress.rows if row.stands_still]
    lacking = list(deleted(row for row in progress.rows if row.lacks))
    missing = [
        row for row in progress.rows if row.left_out or (wishes.until_caught_up and row in untold)
    ]
    told = [*progress.left_out, *(row.why for row in missing), *lacking]
    return {
        "link": link,
        "seconds": round(time.monotonic() - progress.began, 1),
        "stopped": stopped,
        "complete": not told and not progress.trouble,
        "records": sum(records for records, _ in copied),
        "bytes": sum(size_ for _, size_ in copied),
        "caught_up": not behind and not still,
        "standing_still": len(still),
        "lag": sum(row.to_copy for row in progress.rows),
        "unstable": totals(progress.rows).unstable,
        "transformed": _transformed(progress),
        "left_out": told,
        "trouble": progress.trouble,
        "notes": [
            *(str(note) for note in progress.notes),
            *progress.files,
            *_notes(progress),
        ],
        "partitions": [as_json(row) for row in progress.rows],
    }


def _transformed(progress: RunProgress) -> TransformedJson | None:
    """Return what a query made of records in this run, `None` for a link without one."""
    counts = [progress.transformed(row) for row in progress.rows if row.mode == MODE]
    if not counts:
        return None
    return {
        "read": sum(read for read, _ in counts),
        "written": sum(written for _, written in counts),
        "dropped": sum(max(0, read - written) for read, written in counts),
    }


def _notes(progress: RunProgress) -> list[str]:
    told = progress.takeover, progress.events, progress.cut_over, progress.overtaken
    return [*progress.paused, *progress.strays, *progress.limited, *(text for text in told if text)]


def _sentence(progress: RunProgress, data: MirrorRunJson) -> str:
    how = "stopped" if data["stopped"] else "caught up" if data["caught_up"] else "ended"
    still, through = data["standing_still"], data["transformed"]
    done = f"{count(data['records'])} records, {size(data['bytes'])} copied"
    if through is not None:
        done = f"{count(through['read'])} records read, {count(through['written'])} written"
        done += f", {count(through['dropped'])} dropped by the query"
    return (
        f"{how} after {span(time.monotonic() - progress.began)}: {done}, lag {count(data['lag'])}"
        + (f"; {unstable(data['unstable'])} (below)" if data["unstable"] else "")
        + (f"; {counted(still, 'partition')} not copied (below)" if still else "")
    )
