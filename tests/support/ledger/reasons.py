"""Reasons for tests that need one, whatever it says."""

from __future__ import annotations

from towpath.model.reasons import Reason, ReasonCode

RETENTION = Reason.of(ReasonCode.RETENTION)


def told(text: str) -> Reason:
    """Return a reason with this sentence."""
    return Reason.of(ReasonCode.TOLD, text=text)
