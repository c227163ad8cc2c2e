"""`towpath diff`: the differences between the target and the file."""

from __future__ import annotations

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Form, FormOption
from towpath.mirror.plan.link_plan import build
from towpath.mirror.show.plan_picture import show_plan
from towpath.settings import load

DIFFERENT = 3


def diff(file: LinkFile, *, output: FormOption = Form.TEXT) -> int:
    """Show the differences between the target and the file: exit 0 equal, 3 different.

    Records are compared by `towpath verify`.
    """
    del output  # `show` reads it from the arguments
    found = build(load(file, transforms=True))
    show_plan(found)
    return found.exit_code or (DIFFERENT if found.steps else 0)
