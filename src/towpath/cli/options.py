"""Arguments and options that several commands have."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from towpath.model.errors import ConfigError, ConfigProblem


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
MasterOption = Annotated[
    str | None, typer.Option(help="Spark master; by default all cores of this machine.")
]
_MASTER = r"local(\[(\*|\d+)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://[^/\s]+|yarn|k8s://\S+"
SlicesOption = Annotated[
    int | None,
    typer.Option(min=1, help="Number of slices; by default the number of Spark's slots."),
]
ReportOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a JSON report to this file at the end.")
]


def require_writable(file: Path | None, option: str = "--report") -> None:
    """Check before the work that its result can be written.

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
    """Check before the work that a Spark master has a valid form.

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


def write_report(report: Path | None, data: Mapping[str, Any]) -> None:
    """Write the report, if the user asked for one.

    Raises:
        ConfigError: It could not be written.
    """
    if report is None:
        return
    try:
        report.write_text(json.dumps(data, indent=2) + "\n")
    except OSError as error:
        raise _refusal("--report", f"{report} cannot be written: {error.strerror}") from error


def _refusal(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))
