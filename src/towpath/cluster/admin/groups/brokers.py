"""Asks several brokers side by side, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from towpath.cluster.metadata import Broker
from towpath.model.errors import ClusterError

_AT_ONCE = 16


def ask_each(
    brokers: Iterable[Broker], ask: Callable[[Broker], None]
) -> Mapping[Broker, ClusterError]:
    """Call `ask` for each broker, and return the errors; one that is silent delays no other."""
    wanted = tuple(brokers)
    if len(wanted) == 1:
        error = _asked(ask, wanted[0])
        return {} if error is None else {wanted[0]: error}
    with ThreadPoolExecutor(max(1, min(_AT_ONCE, len(wanted))), "towpath-groups") as threads:
        errors = threads.map(lambda broker: _asked(ask, broker), wanted)
        return {
            broker: error for broker, error in zip(wanted, errors, strict=True) if error is not None
        }


def _asked(ask: Callable[[Broker], None], broker: Broker) -> ClusterError | None:
    try:
        ask(broker)
    except ClusterError as error:
        return error
    return None
