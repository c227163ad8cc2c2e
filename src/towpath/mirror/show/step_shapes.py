"""Types of the JSON of commands that do steps of plans: `apply` and `schemas`."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape
from towpath.plan.plan_shapes import ProblemJson, StepFailureJson, StepJson


@shape
class ApplyJson(TypedDict):
    """Output of `towpath apply FILE --output json`, and of its `--report`.

    If the user did not agree, it has only `link`, `complete` and `done`.
    """

    link: str
    plan: NotRequired[str]
    """Digest of the saved plan, "" for none."""
    complete: bool
    done: list[StepJson]
    done_before: NotRequired[list[StepJson]]
    """Steps of the saved plan that an earlier call did."""
    done_elsewhere: NotRequired[list[StepJson]]
    """Steps of the saved plan that somebody else did."""
    failed: NotRequired[list[StepFailureJson]]
    not_reached: NotRequired[list[StepJson]]
    left_out: NotRequired[list[str]]
    takeover: NotRequired[str]
    """The dead process whose lease was taken over, "" for none."""


@shape
class SchemasSyncJson(TypedDict):
    """Output of `towpath schemas sync FILE --output json`."""

    link: str
    complete: bool
    done: list[StepJson]
    failed: list[StepFailureJson]
    not_reached: list[StepJson]
    left_out: list[str]


@shape
class ComparedVersionJson(TypedDict):
    """A version of a subject on both sides."""

    subject: str
    version: int
    id: int | str
    target_subject: str | None
    """`null` if the target does not have it."""
    target_version: int | None
    target_id: int | str | None
    verdict: str
    """`equal`, `missing`, `different` or `unknown`."""
    why: str
    """Why it is not equal, "" if it is."""


@shape
class ComparedSchemasJson(TypedDict):
    """Output of `towpath schemas ls` and `verify` with `--output json`."""

    versions: list[ComparedVersionJson]
    problems: list[ProblemJson]
    requests: int
    """Number of requests to both registries."""
