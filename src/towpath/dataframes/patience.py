"""Waiting for a cluster that a query has reached before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from towpath.cluster.connect.control import AGAIN
from towpath.cluster.connect.retrying import retried
from towpath.model.errors import UnreachableError
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

T = TypeVar("T")


def patiently(config: ClusterConfig, work: Callable[[], T]) -> T:
    """Return what some work returns, which is done again while no broker can be reached.

    A connection that is new gives up soon, as an address may be wrong. Those of a query that runs
    are new for each micro-batch and task, so that it would end with each short outage.

    Args:
        config: The cluster; its `request_timeout` is the longest outage.
        work: Only asks, or may be done twice.

    Raises:
        UnreachableError: It cannot be reached for so long.
    """
    deadline = Deadline.after(config.request_timeout)
    return retried(work, deadline, AGAIN, lambda error: isinstance(error, UnreachableError))
