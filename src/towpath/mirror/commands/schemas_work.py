"""The work of the commands below `towpath schemas`, and the texts and data that show it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.console import Group

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line, show
from towpath.cli.signals import stopping
from towpath.mirror.plan import schemas_alone
from towpath.mirror.show.plan_picture import show_plan, show_step
from towpath.mirror.show.step_shapes import ComparedSchemasJson, SchemasSyncJson
from towpath.model.amounts import counted
from towpath.model.findings import Problem
from towpath.plan.kinds import as_data
from towpath.plan.model import problem_data, refuse
from towpath.schemas.verify import EQUAL, ComparedVersion
from towpath.settings import LinkConfig

NOT_ALL = 3
"""Exit code of what was refused, left undone, or differs."""


def list_subjects(config: LinkConfig) -> int:
    """List the subjects of a link; return the exit code."""
    found = schemas_alone.compared(config, ask=False)
    rows = []
    for name, some in groupby(found.rows, key=lambda row: row.at.subject):
        each = list(some)
        places = {row.place.subject for row in each if row.place is not None}
        states = sorted({row.verdict for row in each} - {EQUAL})
        rows.append(
            (
                name,
                "" if places <= {name} else ", ".join(sorted(places)),
                _numbers(row.at.version for row in each),
                _numbers(row.id for row in each),
                _numbers(row.target_id for row in each if row.target_id is not None),
                ", ".join(states) or EQUAL,
            )
        )
    heads = ("subject", "on the target", "versions", "ids", "target ids", "state")
    parts = [Grid(heads, tuple(rows))] if rows else []
    told = [counted(len(rows), "subject"), *_problems(found.problems)]
    show(Group(*parts, *map(line, told)), _data(found.rows, found.problems, found.requests))
    return NOT_ALL if found.problems and not rows else 0


def show_differences(config: LinkConfig) -> int:
    """Show how the target's registry differs; return the exit code."""
    found = schemas_alone.planned(config)
    show_plan(found, subjects=schemas_alone.ALONE)
    return found.exit_code or (NOT_ALL if found.steps else 0)


def register_missing(config: LinkConfig) -> int:
    """Register what the target's registry lacks; return the exit code."""
    plan = schemas_alone.planned(config)
    refuse(plan)
    with stopping() as stop:
        done = schemas_alone.sync(plan, config, show_step, stop)
    steps = f"steps: {len(done.done)} done, {len(done.failed)} failed, {len(done.rest)} not reached"
    data: SchemasSyncJson = {
        "link": config.link,
        "complete": done.complete and not plan.problems,
        "done": [as_data(step) for step in done.done],
        "failed": [
            {**as_data(step), "code": error.code, "error": str(error)}
            for step, error in done.failed
        ],
        "not_reached": [as_data(step) for step in done.rest],
        "left_out": [str(problem) for problem in plan.problems],
    }
    if not plan.steps:
        steps = "nothing could be done" if plan.problems else "nothing to do"
    told = [*_problems(plan.problems), *done.left_out, steps]
    show(Group(*map(line, told)), data)
    return 0 if data["complete"] else NOT_ALL


def verify_ids(config: LinkConfig) -> int:
    """Request every schema id from the target, and compare the answers; return the exit code."""
    found = schemas_alone.compared(config, ask=True)
    wrong = [row for row in found.rows if row.verdict != EQUAL]
    lines = [f"{row.at} (id {row.id}): {row.verdict}: {row.why}" for row in wrong]
    named = {row.at.subject for row in wrong}
    lines += _problems(each for each in found.problems if each.about not in named)
    equal = len(found.rows) - len(wrong)
    lines.append(f"{equal} of {counted(len(found.rows), 'version')} {EQUAL}")
    show(Group(*map(line, lines)), _data(found.rows, found.problems, found.requests))
    return NOT_ALL if wrong or found.problems else 0


def _data(
    rows: Iterable[ComparedVersion], problems: Iterable[Problem], requests: int
) -> ComparedSchemasJson:
    return {
        "versions": [
            {
                "subject": row.at.subject,
                "version": row.at.version,
                "id": row.id,
                "target_subject": row.place.subject if row.place else None,
                "target_version": row.place.version if row.place else None,
                "target_id": row.target_id,
                "verdict": row.verdict,
                "why": row.why,
            }
            for row in rows
        ],
        "problems": [problem_data(problem) for problem in problems],
        "requests": requests,
    }


def _problems(problems: Iterable[Problem]) -> list[str]:
    return [f"problem: {problem}" for problem in problems]


def _numbers(numbers: Iterable[int]) -> str:
    """Return numbers with ranges: `1-3, 7`."""
    parts = []
    for _, some in groupby(enumerate(sorted(set(numbers))), key=lambda each: each[1] - each[0]):
        found = [number for _, number in some]
        parts.append(str(found[0]) if len(found) == 1 else f"{found[0]}-{found[-1]}")
    return ", ".join(parts)
