"""The display of plans on a terminal, and as Markdown for a review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group as Parts
from rich.console import RenderableType

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import console, line, show
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import TowpathError
from towpath.model.findings import without_side
from towpath.plan.explain import (
    Group,
    by_heading,
    clusters,
    copying,
    grouped,
    groups,
    largest,
    remarks,
    sentence,
    summary,
)
from towpath.plan.kinds import Step
from towpath.plan.model import Plan
from towpath.plan.subjects import Subjects

_UNSAVED = (
    "nothing was saved, as this plan could not be applied; mend its problems, then plan again"
)


def show_plan(plan: Plan, *, saved: bool | None = None, subjects: Subjects = SUBJECTS) -> None:
    """Print a plan in the requested form.

    Args:
        plan: The plan.
        subjects: What it is about.
        saved: Whether the plan was written to a file; `None` if the user did not ask for that.
    """
    data = plan.as_data()
    if saved is not None:
        data["saved"] = saved
    if saved is False:
        markdown = f"{as_markdown(plan, subjects)}\n{_UNSAVED}.\n"
        show(Parts(picture(plan, subjects), line(_UNSAVED)), data, markdown)
    else:
        show(picture(plan, subjects), data, as_markdown(plan, subjects))


def picture(plan: Plan, subjects: Subjects = SUBJECTS) -> RenderableType:
    """Return the tables and notes of a plan, for people."""
    parts: list[RenderableType] = [*map(line, clusters(plan)), ""]
    for group in groups(plan, subjects):
        parts += [line(group.title), _grid(group), ""]
    if told := copying(plan):
        parts += [*map(line, told), ""]
    parts += map(line, remarks(plan))
    return Parts(*parts, line(summary(plan, subjects)))


def _grid(group: Group) -> Grid:
    """Return the steps of a subject; their last column tells most, such as all configs."""
    last = [name for name in group.headers[-1:] if name not in group.right]
    return Grid(group.headers, group.rows, right=group.right, whole=["step"], below=last)


def as_markdown(plan: Plan, subjects: Subjects = SUBJECTS) -> str:
    """Return the whole plan: clusters, a table per subject, every note and every problem."""
    return "\n".join(_lines(plan, subjects)) + "\n"


def _lines(plan: Plan, subjects: Subjects) -> Iterator[str]:
    yield f"# Plan of link {_plain(plan.link)}"
    yield from (
        "",
        *(f"- {_plain(line)}" for line in clusters(plan)[1:]),
        "",
        summary(plan, subjects) + ".",
    )
    if told := copying(plan):
        yield from ("", *(f"- {_plain(text)}" for text in told))
    biggest = largest(plan)
    for group in (*groups(plan, subjects), *([biggest] if biggest else [])):
        yield from ("", f"## {group.title[:1].upper()}{group.title[1:]}", "")
        yield from _table(group.headers, group.rows)
    for section, notes in by_heading(plan.notes).items():
        heading = f"{section[:1].upper()}{section[1:]}" if section else "Notes"
        yield from ("", f"## {heading}", "")
        for text, about in grouped(notes).items():
            named = ", ".join(about)
            yield f"- {_plain(named)}: {_plain(without_side(named, text))}"
    if plan.problems:
        yield from ("", "## Problems", "")
        for problem in plan.problems:
            text = without_side(problem.about, problem.text)
            yield f"- **{_plain(problem.about)}**: {_plain(text)}"


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headers)} |"
    yield f"|{'---|' * len(headers)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def _plain(text: str) -> str:
    """Escape characters that have a meaning in Markdown."""
    return "".join(f"\\{char}" if char in "\\`*_<>[]|" else char for char in text)


def show_step(step: Step, error: TowpathError | None) -> None:
    """Show that a step was done, or that it failed with an error."""
    how = "done" if error is None else "failed"
    console(stderr=True).print(line(f"{how}: {sentence(step, SUBJECTS.kinds)}"))
