"""What can go wrong with a step beside the errors of the cluster.

TowpathError
└── StepOutdatedError           3  the target is no longer as it was when the step was planned
"""

from __future__ import annotations

from towpath.model.errors import TowpathError


class StepOutdatedError(TowpathError):
    """The precondition of a step does not hold: what was expected of `topic`, and what is there."""

    code = "STEP_OUTDATED"
    exit_code = 3

    def __init__(self, topic: str, expected: str, found: str) -> None:
        super().__init__(topic, expected, found)
        self.topic, self.expected, self.found = topic, expected, found

    def __str__(self) -> str:
        return (
            f"target: topic {self.topic} changed since this was planned: it should have"
            f" {self.expected} and has {self.found}; look who else changes it, then plan again"
        )
