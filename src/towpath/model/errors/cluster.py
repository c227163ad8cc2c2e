"""Errors about a cluster."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError
from towpath.model.reasons import Reason, ReasonCode


class ClusterError(TowpathError):
    """A cluster could not be reached, or refused a request."""

    code = "CLUSTER"
    exit_code = 4

    @property
    def forbidden(self) -> bool:
        """Whether the login lacks a right."""
        return False


class UnreachableError(ClusterError):
    """No broker answered; the error has the side, the request, the cause and advice."""

    code = "CLUSTER_UNREACHABLE"

    def __init__(self, side: str, what: str, why: str, advice: str = "") -> None:
        super().__init__(side, what, why, advice)
        self.side, self.what, self.why, self.advice = side, what, why, advice

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        side, what, why, advice = str(self.side), self.what, self.why, self.advice
        return Reason.of(ReasonCode(self.code), side=side, what=what, why=why, advice=advice)

    def __str__(self) -> str:
        return str(self.reason)


class ClusterReplacedError(ClusterError):
    """An address leads to another cluster than before.

    Args:
        side: `source` or `target`.
        before: The id of the cluster that was there first.
        now: The id of the one that answers now.
    """

    code = "CLUSTER_REPLACED"

    def __init__(self, side: str, before: str, now: str) -> None:
        super().__init__(side, before, now)
        self.side, self.before, self.now = side, before, now

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        code = ReasonCode.CLUSTER_REPLACED
        return Reason.of(code, side=str(self.side), before=self.before, now=self.now)

    def __str__(self) -> str:
        return str(self.reason)


class RefusedError(ClusterError):
    """A broker answered with an error code.

    Args:
        side: `source` or `target`.
        what: What was being done, with its values.
        error: Number of the Kafka error code.
        name: Its name in the protocol, such as `TOPIC_AUTHORIZATION_FAILED`.
        advice: What to do about it.
        retriable: Whether the same request may succeed later.
        records: The places in a batch of the records that are refused, as far as the broker says.
    """

    code = "CLUSTER_REFUSED"

    def __init__(
        self,
        side: str,
        what: str,
        error: int,
        name: str,
        advice: str = "",
        *,
        retriable: bool = False,
        records: tuple[int, ...] = (),
    ) -> None:
        super().__init__(side, what, error, name, advice)
        self.side, self.what, self.error, self.name = side, what, error, name
        self.advice, self.retriable, self.records = advice, retriable, records

    @property
    def forbidden(self) -> bool:
        """Whether the login lacks a right."""
        return "AUTHORIZATION" in self.name

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(
            ReasonCode.CLUSTER_REFUSED,
            side=str(self.side),
            what=self.what,
            error=self.error,
            name=self.name,
            advice=self.advice,
        )

    def __str__(self) -> str:
        return str(self.reason)
