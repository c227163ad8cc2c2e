"""Arguments and options that several commands have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from towpath.model.errors import ConfigError, Problem

LinkFile = Annotated[Path, typer.Argument(metavar="FILE", help="The YAML file of the link.")]
MasterOption = Annotated[
    str | None, typer.Option(help="Spark master; all cores of this machine by default.")
]
ReportOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a JSON report there at the end.")
]


def require_writable(report: Path | None) -> None:
    """Check before the work whether its report can be written.

    Raises:
        ConfigError: It cannot.
    """
    if report is None:
        return
    folder = report.absolute().parent
    if not folder.is_dir():
        raise _refusal(f"the folder {folder} does not exist")
    if report.is_dir():
        raise _refusal(f"{report} is a folder; name a file in it")


def write_report(report: Path | None, data: Mapping[str, Any]) -> None:
    """Write the report, if one was asked for.

    Raises:
        ConfigError: It could not be written.
    """
    if report is None:
        return
    try:
        report.write_text(json.dumps(data, indent=2) + "\n")
    except OSError as error:
        raise _refusal(f"{report} cannot be written: {error.strerror}") from error


def _refusal(text: str) -> ConfigError:
    return ConfigError((Problem("--report", text),))
