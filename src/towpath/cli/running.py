"""What `towpath run` shows while it runs and at its end."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.text import Text

from towpath.cli.options import write_report
from towpath.cli.show.output import show
from towpath.cli.show.progress import Display
from towpath.cli.show.status import as_json, picture
from towpath.config import LinkConfig
from towpath.engine.starting import Starting
from towpath.mirror.progress import RunProgress, Wishes
from towpath.mirror.run import run
from towpath.model.amounts import count, size, span


def mirror(
    config: LinkConfig, wishes: Wishes, spark: Starting, stop: threading.Event, report: Path | None
) -> int:
    """Run, show progress and the result, and return the exit code."""
    with Display(config.link) as display:
        progress = run(config, wishes, spark, stop, display.show)
    data = _report(config.link, wishes, progress, stopped=stop.is_set())
    lines = [_sentence(progress, data), *progress.topics.left_out]
    lines += [f"trouble: {progress.trouble}"] if progress.trouble else []
    lines += [*progress.files, *_notes(progress)]
    show(Group(*map(Text, lines), picture(progress.rows)), data)
    write_report(report, data)
    return 0 if data["complete"] else 3


def _report(link: str, wishes: Wishes, progress: RunProgress, *, stopped: bool) -> dict[str, Any]:
    copied = [progress.copied(row) for row in progress.rows]
    behind = [row for row in progress.rows if not progress.caught_up(row)]
    untold = {row for row in behind if row.topic not in progress.topics.topics}
    missing = [
        row for row in progress.rows if row.left_out or (wishes.until_caught_up and row in untold)
    ]
    told = [*progress.topics.left_out, *(row.why for row in missing)]
    return {
        "link": link,
        "seconds": round(time.monotonic() - progress.began, 1),
        "stopped": stopped,
        "complete": not told and not progress.trouble,
        "records": sum(records for records, _ in copied),
        "bytes": sum(size_ for _, size_ in copied),
        "caught_up": not behind,
        "lag": sum(max(0, row.lag_records) for row in progress.rows),
        "left_out": told,
        "trouble": progress.trouble,
        "notes": [
            *(str(note) for note in progress.topics.notes),
            *progress.files,
            *_notes(progress),
        ],
        "partitions": [as_json(row) for row in progress.rows],
    }


def _notes(progress: RunProgress) -> list[str]:
    return [text for text in (progress.takeover, progress.events) if text]


def _sentence(progress: RunProgress, data: dict[str, Any]) -> str:
    how = "stopped" if data["stopped"] else "caught up" if data["caught_up"] else "ended"
    return (
        f"{how} after {span(time.monotonic() - progress.began)}: {count(data['records'])} records,"
        f" {size(data['bytes'])} copied, lag {count(data['lag'])}"
    )
