"""Failures of a run's source or store, reported once and retried. Pure."""

from __future__ import annotations

from towpath.model.errors import TowpathError
from towpath.runtime.backoff import BackOff

_AGAIN = BackOff(first=1.0, longest=15.0)


class Trouble:
    """The failure state of a run's source or store.

    It is in trouble from the first failure until something has succeeded. That nothing was tried,
    as a pause goes on, is no success.

    Attributes:
        why: The last error, as a sentence; "" if there is none.
        failures: Failures in a row.
        again: When it may be asked again, by the monotonic clock.
    """

    def __init__(self) -> None:
        self.why = ""
        self.failures = 0
        self.again = 0.0

    def failed(self, error: TowpathError, now: float) -> bool:
        """Record a failure. Returns whether the error differs from the last one."""
        is_new, self.why = self.why != str(error), str(error)
        self.failures += 1
        self.again = now + _AGAIN.after(self.failures)
        return is_new

    def passed(self) -> bool:
        """Record a success. Returns whether there was trouble until now."""
        was, self.why = bool(self.failures), ""
        self.failures, self.again = 0, 0.0
        return was
