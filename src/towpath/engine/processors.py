"""The number of processors that this process may use, within a container's limits."""

from __future__ import annotations

import math
import os
import sys
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def processors(groups: Path = _GROUPS) -> int:
    """Return the number of processors that this process may use, at least 1.

    Args:
        groups: Where the limits of a container are (kernel documentation, cgroup-v2 `cpu.max`,
            cgroup-v1 `cpu.cfs_quota_us`).
    """
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(known or 1, _limit(groups)))


def _limit(groups: Path) -> int:
    """Return how many processors a container allows, parts of one as one."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (groups / "cpu.max").read_text().split()
        return sys.maxsize if quota == "max" else math.ceil(int(quota) / int(period))
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (
            (groups / "cpu" / f"cpu.cfs_{each}_us").read_text() for each in ("quota", "period")
        )
        return math.ceil(int(quota) / int(period)) if int(quota) > 0 else sys.maxsize
    return sys.maxsize
