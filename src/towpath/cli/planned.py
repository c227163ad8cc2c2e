"""A plan as text for a terminal; shared by the commands that show plans."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.markdown import as_markdown
from towpath.cli.output import show
from towpath.cli.render import table
from towpath.mirror.subjects import SUBJECTS
from towpath.plan.explain import clusters, groups, remarks, summary
from towpath.plan.model import Plan

_UNSAVED = (
    "nothing was saved, as this plan could not be applied; mend its problems, then plan again"
)


def show_plan(plan: Plan, *, saved: bool | None = None) -> None:
    """Print a plan in the wanted form.

    Args:
        plan: The plan.
        saved: Whether the plan was written to a file; `None` if the user did not ask for that.
    """
    data = plan.as_data() if saved is None else {**plan.as_data(), "saved": saved}
    if saved is False:
        show(Group(picture(plan), line(_UNSAVED)), data, f"{as_markdown(plan)}\n{_UNSAVED}.\n")
    else:
        show(picture(plan), data, as_markdown(plan))


def picture(plan: Plan) -> RenderableType:
    """Return a plan for people."""
    parts: list[RenderableType] = [*map(line, clusters(plan)), ""]
    for group in groups(plan, SUBJECTS):
        parts += [line(group.title), table(group.headers, group.rows, right=group.right), ""]
    parts += map(line, remarks(plan))
    return Group(*parts, line(summary(plan, SUBJECTS)))


def line(text: str) -> Text:
    """Return a line that wraps and is never cut."""
    return Text(text, overflow="fold")
