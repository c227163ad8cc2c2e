"""Tools of steps that wait, on a cluster that never changes. Pure."""

from __future__ import annotations

from threading import Event
from typing import Any, cast

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import Tools
from towpath.kraft.do.waiting import StepWaits
from towpath.kraft.facts.seen import Observation
from towpath.kraft.zookeeper.client import ZooKeeper


class Logging:
    """A driver that has the log of a controller."""

    def __init__(self, log: str) -> None:
        self._log = log

    def log(self, lines: int) -> str:
        del lines
        return self._log


def tools(config: KraftConfig, seen: Observation, log: str = "", copy: str = "1s") -> Tools:
    """Return tools for a step that waits, where always the same is seen."""
    config = config.model_copy(
        update={"limits": config.limits.model_validate({"copy": copy, "pause": "0s"})}
    )
    drivers = cast("Any", dict.fromkeys(seen.controllers, Logging(log)))
    waits = StepWaits(config.limits, drivers, lambda _: seen, lambda _: None, Event())
    return Tools(config, drivers, waits, cast("Any", None), ZooKeeper(config.zookeeper))
