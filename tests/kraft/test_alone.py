"""A migration needs no mirror, no ledger and no Spark, and its stages allow no wrong move."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from towpath.kraft.standing import stages
from towpath.kraft.standing.stages import (
    DualWrite,
    Final,
    Finalizing,
    Headless,
    InZooKeeper,
    Stranded,
    Unknown,
)

LOADING = """
import importlib, pkgutil, sys
import towpath.kraft
for each in pkgutil.walk_packages(towpath.kraft.__path__, "towpath.kraft."):
    importlib.import_module(each.name)
print(*{".".join(name.split(".")[:2]) for name in sys.modules}, sep="\\n")
"""
NEEDED = {"cli", "cluster", "kraft", "metering", "model", "runbook", "runtime", "settings", "wire"}


@pytest.mark.slow
def test_it_needs_no_mirror_no_ledger_and_no_spark() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, check=True)
    loaded = set(ran.stdout.decode().splitlines())
    ours = {name.partition(".")[2] for name in loaded if name.startswith("towpath.")}
    assert ours <= NEEDED
    assert not {name for name in loaded if name.partition(".")[0] in {"pyspark", "pyarrow"}}


def moves(stage: Any) -> Iterator[Any]:
    """Yield the types of stages to which a stage has a move."""
    for name, method in vars(stage).items():
        if callable(method) and not name.startswith("_"):
            made = get_type_hints(method, vars(stages))["return"]
            yield from get_args(made) or (made,)


def reached(stage: Any, besides: frozenset[Any] = frozenset()) -> set[Any]:
    """Return all stages that moves lead to, with no way through some others."""
    found, new = set[Any](), {stage}
    while new:
        found |= new
        new = {to for each in new for to in moves(each)} - found - besides
    return found


def test_nothing_leads_back_from_the_end_and_nothing_out_of_the_unknown() -> None:
    assert reached(Final) == {Final}
    assert reached(Unknown) == {Unknown}
    assert reached(Stranded) == {Stranded, Final}


def test_nobody_is_finalized_who_was_not_in_dual_write() -> None:
    every = get_args(stages.KnownStage)
    assert {each for each in every if Finalizing in moves(each)} == {DualWrite}
    assert Final not in reached(InZooKeeper, frozenset({DualWrite}))


def test_every_stage_before_the_end_leads_back_to_zookeeper() -> None:
    for each in get_args(stages.KnownStage):
        assert (InZooKeeper in reached(each)) is (each not in {Final, Stranded}), each
    assert InZooKeeper not in reached(DualWrite, frozenset({Headless})), "the stores are compared"
