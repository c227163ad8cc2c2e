"""How long one call to a store may take where its caller calls again anyway."""

from __future__ import annotations

from towpath.config import Duration, StoreConfig
from towpath.model.backoff import BackOff

AGAIN = BackOff(first=1.0, longest=5.0)
"""Pauses of a loop between its calls to a store that is away."""
_PATIENCE = 10.0
"""Seconds for which a request is repeated before its caller does other things."""


def hasty(store: StoreConfig) -> StoreConfig:
    """Return the config of a store for a loop that repeats its requests.

    A store that is away must not hold up the loop, which tells of it and listens to people.

    Args:
        store: The config from the file.
    """
    timeout = min(store.timeout, Duration(_PATIENCE))
    return store.model_copy(update={"timeout": timeout})
