"""Concurrent requests to several brokers, each in its own thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from towpath.model.errors import ClusterError

T = TypeVar("T")

_AT_ONCE = 32


def ask_each(shares: Iterable[T], ask: Callable[[T], None]) -> Mapping[T, ClusterError]:
    """Call `ask` concurrently for each broker or share of work, and return the errors.

    One that is silent delays no other.
    """
    wanted = tuple(shares)
    if len(wanted) == 1:
        error = _asked(ask, wanted[0])
        return {} if error is None else {wanted[0]: error}
    with ThreadPoolExecutor(max(1, min(_AT_ONCE, len(wanted))), "towpath-groups") as threads:
        errors = threads.map(lambda each: _asked(ask, each), wanted)
        return {
            each: error for each, error in zip(wanted, errors, strict=True) if error is not None
        }


def _asked(ask: Callable[[T], None], share: T) -> ClusterError | None:
    try:
        ask(share)
    except ClusterError as error:
        return error
    return None
