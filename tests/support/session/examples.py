"""How many random examples a test of hypothesis gets."""

from __future__ import annotations

from hypothesis import settings


def examples(times: float, soak: float | None = None) -> settings:
    """Return settings with so many times the examples of a test that asks for none.

    Their number is that of the session: few in `scripts/test --quick`, many in `scripts/soak`.

    Args:
        times: How many times as many.
        soak: The same for a soak, if it needs more there.
    """
    if soak is not None and settings.get_current_profile_name() == "soak":
        times = soak
    return settings(max_examples=max(1, round(settings().max_examples * times)))
