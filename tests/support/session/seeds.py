"""Seeds of random histories: a few in each session, all others in a soak.

Those of a soak are played in blocks: each process of a session makes all tests, those too that it
then leaves out, and a thousand tests of a seed each cost every session seconds.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

ROUNDS = int(os.environ.get("TOWPATH_SOAK_ROUNDS") or 1)
_BLOCK = 20


def seeded(short: int, long: int) -> Callable[[Callable[..., None]], Any]:
    """Return what lets a test be played with many values of its parameter `seed`.

    Args:
        short: How many in each session, each as a test of its own.
        long: How many in each round of a soak.
    """
    end = long * ROUNDS
    blocks = [range(first, min(first + _BLOCK, end)) for first in range(short, end, _BLOCK)]
    values = [
        *(pytest.param((seed,), id=str(seed)) for seed in range(short)),
        *(pytest.param(b, id=f"{b[0]} to {b[-1]}", marks=pytest.mark.soak) for b in blocks),
    ]

    def decorate(test: Callable[..., None]) -> Any:
        def play(*, seeds: Iterable[int], **others: object) -> None:
            for seed in seeds:
                try:
                    test(seed=seed, **others)
                except Exception as error:
                    error.add_note(f"seed {seed}")
                    raise

        asked = inspect.signature(test).parameters.values()
        names = ["seeds" if each.name == "seed" else each.name for each in asked]
        kinds = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
        play.__name__, play.__doc__ = test.__name__, test.__doc__
        play.__module__, play.__qualname__ = test.__module__, test.__qualname__
        play.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
        play.__dict__ |= test.__dict__  # marks
        return pytest.mark.parametrize("seeds", values)(play)

    return decorate
