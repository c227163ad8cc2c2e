"""Marks of a start: every Python process that finds this module writes down when what began.

`bench/start` puts this folder on PYTHONPATH, so Python imports it first, in the driver and in each
process that Spark starts. Nothing of Towpath knows of it. One line of JSON a mark: what, when it
began and ended (seconds since the epoch), and the CPU seconds of the process at both.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = os.environ.get("TOWPATH_BENCH_MARKS", "")
CALLS = {
    "towpath.engine.session": ("session", "SparkContext._ensure_initialized"),
    "towpath.mirror.run.run": ("_Mirror.prepare", "Rounds.__init__"),
    "towpath.mirror.run.round_planner": ("plan_round",),
    "towpath.records.copy": ("copy",),
    "towpath.records.target.opening": ("Opener.open",),
    "towpath.records.lane.lane": ("Lane.take",),
}
"""By module: what is marked the first time that it is called in a process."""
IMPORTS = frozenset({*CALLS, "towpath.mirror.commands.run", "towpath.mirror.run.slices"})
"""Modules whose import is marked."""
LACKING = "lacking"
"""A mark of what is no more where it was."""


class Marks:
    """The file of one process, each line written at once; a fork begins a file of its own."""

    def __init__(self) -> None:
        self._pid = 0
        self._out: Any = None
        self._seen: set[str] = set()

    def first(self, what: str) -> bool:
        """Whether this is the first time in this process."""
        if self._pid != os.getpid():
            self._seen = set()
        if what in self._seen:
            return False
        self._seen.add(what)
        return True

    def write(self, what: str, began: float, ended: float, cpu: tuple[float, float]) -> None:
        """Write one mark."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._out = (Path(FOLDER) / f"{self._pid}-{time.monotonic_ns()}").open("w", buffering=1)
        mark = {
            "pid": self._pid, "parent": os.getppid(), "words": sys.orig_argv[1:4], "what": what,
            "began": began, "ended": ended, "cpu": [round(each, 3) for each in cpu],
        }  # fmt: skip
        self._out.write(json.dumps(mark) + "\n")


MARKS = Marks()


def now() -> tuple[float, float]:
    """Return the time and the CPU seconds of this process."""
    return time.time(), time.process_time()  # noqa: TID251 - one clock for all processes


def marked(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, with a mark of its first run in each process."""

    @functools.wraps(call)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not MARKS.first(name):
            return call(*args, **kwargs)
        began, before = now()
        try:
            return call(*args, **kwargs)
        finally:
            ended, after = now()
            MARKS.write(name, began, ended, (before, after))

    return wrapper


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are marked by everybody else's finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the module's own specification, its import marked."""
        del target
        if name not in IMPORTS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module
        loaded = marked(f"import {name}", run)

        def load(module: ModuleType) -> None:
            loaded(module)
            for call in CALLS.get(name, ()):
                _mark(module, call)

        spec.loader.exec_module = load  # type: ignore[method-assign]
        return spec


def _mark(module: ModuleType, path: str) -> None:
    owner: Any = module
    *parents, name = path.split(".")
    for each in parents:
        owner = getattr(owner, each, None)
    found = getattr(owner, "__dict__", {}).get(name)
    if found is None:
        began, spent = now()
        MARKS.write(f"{LACKING} {module.__name__}:{path}", began, began, (spent, spent))
    elif isinstance(found, classmethod):
        setattr(owner, name, classmethod(marked(path, found.__func__)))
    else:
        setattr(owner, name, marked(path, found))


if FOLDER:
    sys.meta_path.insert(0, Finder())
