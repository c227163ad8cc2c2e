"""Errors about the nodes of a migration to KRaft, and about its steps."""

from __future__ import annotations

from towpath.model.errors.base import StoppedError, TowpathError


class DriverError(TowpathError):
    """A node's process or files could not be reached, or a request was refused."""

    code = "KRAFT_DRIVER"
    exit_code = 4

    def __init__(self, node: int, what: str, why: str) -> None:
        super().__init__(node, what, why)
        self.node, self.what, self.why = node, what, why

    @property
    def happened(self) -> str:
        """The failure without advice, for an observation that gives one advice for all nodes."""
        return f"node {self.node}: {self.what}: {self.why}"

    def __str__(self) -> str:
        return (
            f"{self.happened}; correct it on the node's host, look at"
            " `towpath kraft status`, then run the command again, which goes on from what it sees"
        )


class NodeEndedError(TowpathError):
    """A node ended during a wait for it; `log` holds its last lines."""

    code = "KRAFT_NODE_ENDED"
    exit_code = 4

    def __init__(self, node: int, what: str, log: str) -> None:
        super().__init__(node, what, log)
        self.node, self.what, self.log = node, what, log

    def __str__(self) -> str:
        return (
            f"node {self.node} ended by itself while this was waited for: {self.what}; its log says"
            " why and ends below; correct that, look at `towpath kraft status`, then run the"
            f" command again, which goes on from what it sees\n{self.log}"
        )


class StepLateError(TowpathError):
    """A wait took longer than the file's limit."""

    code = "KRAFT_STEP_LATE"
    exit_code = 4

    def __init__(self, what: str, seconds: float, limit: str, found: str) -> None:
        super().__init__(what, seconds, limit, found)
        self.what, self.seconds, self.limit, self.found = what, seconds, limit, found

    def __str__(self) -> str:
        return (
            f"this did not come within {self.seconds:.0f} s (`limits.{self.limit}`): {self.what};"
            f" seen last: {self.found}; look at `towpath kraft status` and at the nodes' logs, then"
            " run the command again, which goes on from what it sees"
        )


class StepStoppedError(StoppedError):
    """The user asked to stop during a wait; `what` names the wait and the changes so far."""

    def __init__(self, what: str, left: str) -> None:
        super().__init__(f"while this was waited for: {what}; {left}")


class StepRefusedError(TowpathError):
    """A step would destroy something, or no longer fits the observation; nothing was done."""

    code = "KRAFT_STEP_REFUSED"
    exit_code = 3

    def __init__(self, step: str, why: str) -> None:
        super().__init__(step, why)
        self.step, self.why = step, why

    def __str__(self) -> str:
        return (
            f"the step {self.step} was not done: {self.why}; look at `towpath kraft status`, mend"
            " that, then run the command again, which plans anew from what it sees"
        )


class StepByHandError(TowpathError):
    """A step must be done by hand, as the node is only known from exported objects."""

    code = "KRAFT_BY_HAND"
    exit_code = 3

    def __init__(self, node: int, what: str) -> None:
        super().__init__(node, what)
        self.node, self.what = node, what

    def __str__(self) -> str:
        return (
            f"node {self.node}: {self.what} is done by hand, as `driver.exported` has no API: write"
            " the next steps with `towpath kraft plan FILE --manifests FOLDER`, do the first one,"
            " export the objects again, then run the command again, which goes on from what it sees"
        )
