"""How a plan looks in a terminal; the commands that show one share it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.markdown import as_markdown
from towpath.cli.output import show
from towpath.cli.render import table
from towpath.plan.explain import clusters, groups, remarks, summary
from towpath.plan.model import Plan


def show_plan(plan: Plan) -> None:
    """Print a plan in the form that was asked for."""
    show(picture(plan), plan.as_data(), as_markdown(plan))


def picture(plan: Plan) -> RenderableType:
    """Return a plan for people."""
    parts: list[RenderableType] = [*map(line, clusters(plan)), ""]
    for group in groups(plan):
        parts += [line(group.title), table(group.headers, group.rows, right=group.right), ""]
    parts += map(line, remarks(plan))
    return Group(*parts, line(summary(plan)))


def line(text: str) -> Text:
    """Return a line that is folded, never cut."""
    return Text(text, overflow="fold")
