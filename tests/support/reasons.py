"""Reasons for tests that need one, whatever it says."""

from __future__ import annotations

from towpath.model.reasons import Code, Reason

RETENTION = Reason.of(Code.RETENTION)


def told(text: str) -> Reason:
    """Return a reason with this sentence."""
    return Reason.of(Code.TOLD, text=text)
