"""Replacement for `pyspark.daemon`, from which Spark's Python workers are forked.

It imports what slices need before it forks the first worker. So neither does each worker import it
again, nor is a loop compiled while records wait.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module

WORKS = "TOWPATH_WORKS"
"""The variable of the environment with the names of the modules, separated by commas."""


def load(modules: Iterable[str]) -> None:
    """Import modules before forking; import errors surface in the worker that needs them."""
    # Of several threads only one would survive a fork.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in filter(None, modules):
        with suppress(Exception):
            import_module(name)


def main() -> None:
    """Fork workers whenever Spark asks for one."""
    load(os.environ.get(WORKS, "").split(","))
    from pyspark.daemon import manager  # noqa: PLC0415  # after the number of threads is set

    manager()


if __name__ == "__main__":
    main()
