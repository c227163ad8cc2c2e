"""`towpath plan`: show what `apply` and `run` would do to the target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from towpath.cli.options import LinkFile, rate_of, require_writable
from towpath.cli.show.output import Form, FormOption
from towpath.mirror.plan.link_plan import detailed
from towpath.mirror.show.plan_picture import show_plan
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.plan.saved import save as save_plan
from towpath.settings import load
from towpath.settings.connect_files import is_connect


def plan(
    file: LinkFile,
    *,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the plan to this file, for `towpath apply`."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Bytes that copying may reach in a second, such as 50MiB, for the estimate of its"
            " time; by default the rate of the link so far.",
        ),
    ] = None,
    output: FormOption = Form.TEXT,
) -> int:
    """Show what would change on the target, and what would prevent the change; change nothing."""
    del output  # `show` reads it from the arguments
    require_writable(save, "--save")
    _require_apart(save, file)
    _require_own(save, file)
    made = detailed(load(file, transforms=True), None if rate is None else rate_of(rate, "--rate"))
    saved = None if save is None else not (made.refusals or made.faults)
    if save is not None and saved:
        save_plan(made, file, save)  # first, so that only the error is shown if this fails
    show_plan(made, saved=saved)
    return made.exit_code


def _require_own(save: Path | None, file: Path) -> None:
    """Raise if a plan would be saved with a file of Redpanda Connect, whose secrets are texts."""
    if save is not None and is_connect(file):
        text = f"needs a link's own file; `towpath convert {file}` makes one"
        raise ConfigError((ConfigProblem("--save", text),))


def _require_apart(save: Path | None, file: Path) -> None:
    if save is None:
        return
    if save.suffix in {".yaml", ".yml"} or save.resolve() == file.resolve():
        text = f"{save} would be taken for the file of a link; name one that ends with .json"
        raise ConfigError((ConfigProblem("--save", text),))
