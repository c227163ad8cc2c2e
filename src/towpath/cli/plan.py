"""`towpath plan`: what a run would begin with."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.options import LinkFile
from towpath.cli.output import Output, OutputOption, show
from towpath.cli.render import table
from towpath.config import load
from towpath.plan.build import build
from towpath.plan.explain import HEADERS, clusters, remarks, rows, summary
from towpath.plan.model import Plan


def plan(
    file: LinkFile,
    *,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show what a run would create on the target, and what speaks against it; touch nothing."""
    del output  # `show` knows it
    made = build(load(file))
    show(_text(made), made.as_data())
    return made.exit_code


def _text(made: Plan) -> RenderableType:
    parts: list[RenderableType] = [*map(_line, clusters(made)), ""]
    if made.steps:
        parts += [table(HEADERS, rows(made), right=("partitions", "replicas")), ""]
    parts += map(_line, remarks(made))
    return Group(*parts, _line(summary(made)))


def _line(text: str) -> Text:
    return Text(text, overflow="fold")
