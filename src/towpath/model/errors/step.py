"""Errors of steps of a plan."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class StepOutdatedError(TowpathError):
    """The precondition of a step does not hold: the target has changed.

    Args:
        thing: What is meant.
        expected: What it should have.
        found: What it has.
        side: `target`, or `source` where a step depends on what is not there.
    """

    code = "STEP_OUTDATED"
    exit_code = 3

    def __init__(self, thing: str, expected: str, found: str, side: str = "target") -> None:
        super().__init__(thing, expected, found, side)
        self.thing, self.expected, self.found, self.side = thing, expected, found, side

    def __str__(self) -> str:
        return (
            f"{self.side}: {self.thing} changed since this was planned: it should have"
            f" {self.expected} and has {self.found}; look who else changes it, then plan again"
        )


class StepHeldBackError(TowpathError):
    """A change of an ACL must wait, because an earlier one (`first`) failed."""

    code = "STEP_HELD_BACK"
    exit_code = 3

    def __init__(self, first: str, tried: str) -> None:
        super().__init__(first, tried)
        self.first, self.tried = first, tried

    def __str__(self) -> str:
        return (
            f"target: this would allow too much, as another ACL ({self.first}) could not be"
            f" {self.tried} before; mend what keeps that one back, then apply again"
        )
