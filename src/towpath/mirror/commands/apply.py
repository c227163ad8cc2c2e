"""`towpath apply`: apply a plan to the target."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.confirming import confirmed
from towpath.cli.options import ReportOption, YesOption, require_writable, write_report
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.mirror.plan.link_plan import build
from towpath.mirror.show.plan_picture import picture, show_step
from towpath.mirror.show.step_shapes import ApplyJson
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.plan.applier import Applied
from towpath.plan.apply import ApplyRequest
from towpath.plan.apply import apply as apply_plan
from towpath.plan.finished import AlreadyDone, already_done
from towpath.plan.kinds import Step, as_data
from towpath.plan.model import refuse
from towpath.plan.plan_shapes import StepJson
from towpath.plan.saved import is_saved, load_plan
from towpath.settings import load

NOT_ALL = 3


def apply(
    file: Annotated[
        Path, typer.Argument(metavar="PLAN|FILE", help="A saved plan, or the YAML file of a link.")
    ],
    *,
    yes: YesOption = False,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="SUBJECT,..", help=f"Apply only these of {', '.join(SUBJECTS.names)}."
        ),
    ] = None,
    report: ReportOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Apply the steps of a plan; a second call applies only the remaining steps."""
    del output  # `show` reads it from the arguments
    require_writable(report)
    wanted = _wanted(file, None if only is None else _subjects(only))
    refuse(wanted.plan)
    if wanted.digest:
        known = already_done(wanted, SUBJECTS)
        if known.finished:
            return _finish(wanted, known, report)
        if known.before:
            console(stderr=True).print(line(f"note: {known}"))
    console(stderr=True).print(picture(wanted.narrowed()))
    if wanted.narrowed().steps and not yes and not confirmed("Do these steps?", ""):
        undone: ApplyJson = {"link": wanted.config.link, "complete": False, "done": []}
        show("nothing was done", undone)
        return NOT_ALL
    with stopping() as stop:
        applied = apply_plan(wanted, SUBJECTS, show_step, stop)
    data = _report(wanted, applied)
    notes = [f"note: {applied.takeover}"] if applied.takeover else []
    lines = [*notes, *applied.left_out, _sentence(applied)]
    show(Group(*map(line, lines)), data)
    write_report(report, data)
    return 0 if data["complete"] else NOT_ALL


def _finish(wanted: ApplyRequest, known: AlreadyDone, report: Path | None) -> int:
    """Say that nothing of a saved plan is left to do."""
    applied = Applied(SUBJECTS.kinds, before=[*known.before], elsewhere=[*known.elsewhere])
    data = _report(wanted, applied)
    show(line(str(known)), data)
    write_report(report, data)
    return 0 if data["complete"] else NOT_ALL


def _wanted(file: Path, only: tuple[str, ...] | None) -> ApplyRequest:
    if is_saved(file):
        saved = load_plan(file, SUBJECTS.kinds)
        return ApplyRequest(saved.config, saved.plan, saved.digest, only)
    config = load(file, transforms=True)
    return ApplyRequest(config, build(config), only=only)


def _subjects(text: str) -> tuple[str, ...]:
    named = [word.strip() for word in text.split(",")]
    unknown = [word for word in named if word not in SUBJECTS.names]
    if unknown:
        why = (
            f"{', '.join(map(repr, unknown))} is no subject; there are {', '.join(SUBJECTS.names)}"
        )
        raise ConfigError((ConfigProblem("--only", why),))
    return tuple(subject for subject in SUBJECTS.names if subject in named)


def _report(wanted: ApplyRequest, applied: Applied) -> ApplyJson:
    left_out = [str(problem) for problem in wanted.plan.problems]
    return {
        "link": wanted.config.link,
        "plan": wanted.digest,
        "complete": applied.complete and not left_out,
        "done": _steps(applied.done),
        "done_before": _steps(applied.before),
        "done_elsewhere": _steps(applied.elsewhere),
        "failed": [
            {**as_data(step), "code": error.code, "error": str(error)}
            for step, error in applied.failed
        ],
        "not_reached": _steps(applied.rest),
        "left_out": left_out,
        "takeover": applied.takeover,
    }


def _steps(steps: Iterable[Step]) -> list[StepJson]:
    return [as_data(step) for step in steps]


def _sentence(applied: Applied) -> str:
    counted = {
        "done": len(applied.done),
        "done before": len(applied.before),
        "failed": len(applied.failed),
        "not reached; apply again to do the rest": len(applied.rest),
    }
    told = [f"{number} {what}" for what, number in counted.items() if number]
    return f"steps: {', '.join(told)}" if told else "nothing to do"
