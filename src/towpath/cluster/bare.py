"""Imports of kafka-python's messages without its clients.

`import kafka.protocol` runs the `__init__` of the package `kafka`, which imports an admin client, a
consumer, a producer, and an event loop. Nothing here needs them, and importing them takes as long
as importing all messages. So the packages below exist without their `__init__`, which runs as soon
as somebody asks for a name that is in none of their modules.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_BARE = ("kafka", "kafka.net")
_running = threading.RLock()


class _Bare(ModuleType):
    """A package whose `__init__` has not run."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # the import system asks for such names
            raise AttributeError(name)
        if find_spec(f"{self.__name__}.{name}") is not None:
            return import_module(f"{self.__name__}.{name}")
        with _running:
            if type(self) is _Bare:
                _run(self)
        return getattr(self, name)


def _run(package: ModuleType) -> None:
    """Run the `__init__` of a package."""
    spec = package.__spec__
    if spec is None or spec.loader is None:
        raise ImportError(package.__name__)
    spec.loader.exec_module(package)
    package.__class__ = ModuleType


def leave_bare() -> None:
    """Register these packages without running their `__init__`, unless imported before."""
    for name in _BARE:
        spec = find_spec(name) if name not in sys.modules else None
        if spec is not None:
            package = sys.modules[name] = module_from_spec(spec)
            package.__class__ = _Bare
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, package)
