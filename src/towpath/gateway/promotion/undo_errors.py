"""The errors by which a promotion is undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towpath.model.errors import ClusterError
from towpath.model.reasons import Reason, ReasonCode


class UndoneError(Exception):
    """The error of a promotion that cannot continue and is undone; `why` gives the reason."""

    def __init__(self, why: Reason) -> None:
        super().__init__(str(why))
        self.why = why


def undone(code: ReasonCode, **values: int | str) -> UndoneError:
    """Return the error with this reason."""
    return UndoneError(Reason.of(code, **values))


def late_answers(seconds: float, slowest: str = "") -> UndoneError:
    """Return the error for brokers that did not answer in time what was sent to them.

    Args:
        seconds: How long they had.
        slowest: Whose requests are not answered, as far as that is known.
    """
    left = f" (not answered: {slowest})" if slowest else ""
    what = f"the brokers had answered all that was sent to them{left}"
    return undone(ReasonCode.PROMOTE_LATE, hold=f"{seconds:g} s", what=what)


def unknown(what: str, error: ClusterError) -> UndoneError:
    """Return the error for a cluster that did not answer a necessary question."""
    return undone(ReasonCode.ERROR, error=error.code, text=f"{what} unknown: {error}")


def missed(code: ReasonCode, members: Mapping[str, Iterable[str]]) -> UndoneError:
    """Return the error for group members that did not come in time."""
    group, found = next(iter(members.items()))
    names = [*found]
    return undone(code, group=group, count=len(names), member=names[0])
