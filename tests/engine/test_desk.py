"""The desk where the reader of a stream asks for slices."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import AuthenticationError
from pathlib import Path

import pytest

from towpath.engine.desk import Desk
from towpath.model.errors import ClusterError


def plan(number: int) -> Sequence[str]:
    if number == 2:
        raise ClusterError("the source is away")
    return [f"slice {number}"] * number


def test_slices_come_pickled_and_errors_by_name(tmp_path: Path) -> None:
    desk = Desk(tmp_path, plan)
    try:
        slices = [pickle.loads(one) for one in desk.address.ask(3)]  # noqa: S301  # our own
        assert slices == ["slice 3"] * 3
        error = r"^towpath\.model\.errors\.cluster\.ClusterError: the source"
        with pytest.raises(RuntimeError, match=error):
            desk.address.ask(2)
        assert desk.address.ask(0) == []
    finally:
        desk.close()


def test_who_has_no_key_gets_nothing_and_keeps_nobody_else_away(tmp_path: Path) -> None:
    desk = Desk(tmp_path, plan)
    try:
        with pytest.raises(AuthenticationError):
            replace(desk.address, key=b"guessed").ask(1)
        assert len(desk.address.ask(1)) == 1
    finally:
        desk.close()
