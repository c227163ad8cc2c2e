"""Arguments and options that several commands share."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from towpath.engine.packages import OPTION, check
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.model.nouns import TopicName
from towpath.runtime.log import LogFormat, LogLevel, LogWanted
from towpath.settings import ByteRate, max_rate
from towpath.settings.units import Duration

REPORT = "--report"


def _no_plan(file: Path) -> Path:
    """Reject a saved plan with one message, instead of one for each of its unknown keys."""
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return file
    if isinstance(data, dict) and data.keys() >= {"format", "steps", "digest"}:
        text = "is a saved plan, which `towpath apply` takes alone; name the YAML file of the link"
        raise ConfigError((ConfigProblem(str(file), text),))
    return file


LinkFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The YAML file of the link.", callback=_no_plan)
]
ArchiveFile = Annotated[Path, typer.Argument(metavar="FILE", help="The YAML file of the archive.")]
MasterOption = Annotated[
    str | None, typer.Option(help="Spark master; by default all cores of this machine.")
]
PackagesOption = Annotated[
    str | None,
    typer.Option(
        OPTION,
        metavar="FILE",
        help="Archive made by `towpath pack`, for workers of --master without Towpath; a file, or a"
        " URL that Spark can read.",
    ),
]
_MASTER = r"local(\[(\*|\d+)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://[^/\s]+|yarn|k8s://\S+"
SlicesOption = Annotated[
    int | None,
    typer.Option(min=1, help="Number of slices; by default the number of Spark's slots."),
]
_MOST_NUMBERS = 1_000_000
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option(help="Log everything that happens, only what is trouble, or nothing."),
]
LogFormatOption = Annotated[
    LogFormat | None,
    typer.Option(
        help="Form of the log, which is written to stderr where that is no terminal, or where this"
        " option or --log-level is given."
    ),
]
MOST_EVENTS = 1000
"""Events that are shown where no option says how many."""
SinceOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Show events of this time or later: an age such as 90m, 2h or 3d, or a date such"
        " as 2026-01-31 or 2026-01-31T18:00 (UTC unless it names a zone).",
    ),
]
EventsOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Show at most the last N of these events.")
]
ReportOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a JSON report to this file at the end.")
]

YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
UntilCaughtUpOption = Annotated[
    bool, typer.Option(help="End at the offsets that the source has now.")
]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Look again every 2 seconds, until Ctrl-C.")
]
MayDeleteOption = Annotated[
    bool,
    typer.Option(
        "--may-delete",
        help="All mirror topics are meant to keep less than the source: what the target deleted is"
        " counted, and is no difference. `topics.may_delete` says so of some topics.",
    ),
]


def logs_wanted(level: LogLevel | None, form: LogFormat | None) -> LogWanted | None:
    """Return the logging options; `None` if no log is requested."""
    if level is None and form is None:
        return None
    return LogWanted(level or LogLevel.INFO, form or LogFormat.LOGFMT)


def require_writable(file: Path | None, option: str = REPORT) -> None:
    """Raise before the work if its result could not be written.

    Args:
        file: Where to write, `None` for nowhere.
        option: The option that names the file.

    Raises:
        ConfigError: The check failed.
    """
    if file is None:
        return
    folder = file.absolute().parent
    if not folder.is_dir():
        raise _refusal(option, f"the folder {folder} does not exist")
    if file.is_dir():
        raise _refusal(option, f"{file} is a folder; name a file in it")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise _refusal(option, f"{file} cannot be written: permission denied")


def require_master(master: str | None) -> None:
    """Raise before the work if the Spark master has an invalid form.

    The forms are those of Spark's guide to submitting applications.

    Raises:
        ConfigError: The check failed.
    """
    if master is None or re.fullmatch(_MASTER, master):
        return
    text = (
        f"{master[:100]!r} is not a Spark master; name one such as local[4], spark://host:7077,"
        " yarn or k8s://https://host:443"
    )
    raise ConfigError((ConfigProblem("--master", text),))


def checked_packages(master: str | None, packages: str | None) -> str | None:
    """Check the package archive for Spark's workers, and return its location.

    Raises:
        ConfigError: The archive does not fit this Towpath, or slices run on this machine.
    """
    if packages is None:
        return None
    if master is None or re.fullmatch(r"local(\[.*)?", master):
        text = "is for the workers of a Spark cluster; name it with --master, or drop this option"
        raise _refusal(OPTION, text)
    return check(packages)


def rate_of(text: str, path: str, also: str = "") -> ByteRate:
    """Parse a rate in bytes per second.

    Args:
        text: Such as `50MB`.
        path: The name of the option or argument.
        also: What may be said besides, for the sentence.

    Raises:
        ConfigError: The text means no rate.
    """
    try:
        return max_rate(text)
    except ValueError as error:
        raise _refusal(path, foreign(error) + also) from None


def pattern_of(text: str, option: str = "--topics") -> re.Pattern[str]:
    """Compile the regular expression of an option.

    Raises:
        ConfigError: It is none.
    """
    try:
        return re.compile(text)
    except re.error as error:
        raise _refusal(option, f"{text!r} is not a regular expression: {foreign(error)}") from None


def topics_of(topics: str | None, option: str = "--topics") -> tuple[TopicName, ...]:
    """Parse the option with topics; none stands for the whole link.

    Args:
        topics: What the option says.
        option: Its name, where it names something else.

    Raises:
        ConfigError: The option was given, but names no topic, as with a variable that is not set.
    """
    if topics is None:
        return ()
    found = dict.fromkeys(TopicName(name) for each in topics.split(",") if (name := each.strip()))
    if not found:
        what = "source topic" if option == "--topics" else option.removeprefix("--").rstrip("s")
        raise _refusal(option, f"name at least one {what}")
    return tuple(found)


def numbers_of(text: str, option: str = "--partitions") -> frozenset[int]:
    """Parse an option with numbers such as `0,3-5`.

    Raises:
        ConfigError: It names none.
    """
    found: set[int] = set()
    for part in text.split(","):
        bounds = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        if bounds is None:
            raise _refusal(option, f"{text[:100]!r} are not numbers such as 0,3-5")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if last < first:
            text = f"{part.strip()} ends before it begins; write {last}-{first}"
            raise _refusal(option, text)
        if last - first >= _MOST_NUMBERS:
            raise _refusal(option, f"{part.strip()} are more than {_MOST_NUMBERS} numbers")
        found.update(range(first, last + 1))
    return frozenset(found)


def write_report(
    report: Path | None,
    data: Mapping[str, Any],
    page: Callable[[Mapping[str, Any]], str] | None = None,
) -> None:
    """Write the report, if the user asked for one.

    Args:
        report: The file.
        data: What it says.
        page: Makes a page of it for a file whose name ends with `.html`.

    Raises:
        ConfigError: It could not be written.
    """
    if report is None:
        return
    try:
        if page is not None and report.suffix == ".html":
            report.write_text(page(data))
        else:
            report.write_text(json.dumps(data, indent=2) + "\n")
    except OSError as error:
        raise _refusal(REPORT, f"{report} cannot be written: {error.strerror}") from error


def _refusal(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))


def time_of(text: str, now: int) -> int:
    """Parse an age such as `2h` or a date such as `2026-01-31` into ms since 1970.

    Args:
        text: An age, or a date with or without a time; UTC where it names no zone.
        now: The present time, in ms since 1970.

    Raises:
        ConfigError: The text is neither.
    """
    try:
        return max(0, now - int(Duration.parse(text) * 1000))
    except ValueError:
        pass  # not an age
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        why = f"{text[:40]!r} is neither an age such as 2h or 3d nor a date such as 2026-01-31"
        raise ConfigError((ConfigProblem("--since", why),)) from None
    return max(0, int(when.replace(tzinfo=when.tzinfo or UTC).timestamp() * 1000))
