"""The tables of rounds of trouble count each round once, by what happened in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.played_rounds import FAILED, Round, keep, kept_in, tables

ROUNDS = (
    Round(5, 0, 1, "promote", "leader killed at 25", "classic", "promoted", 8.1, 2.0),
    Round(5, 1, 1, "promote", "leader killed at 7", "consumer", "killed promoted", 11.0, 3.5),
    Round(6, 0, 3, "revert", "source broker 2 frozen for 0.5 s after 1 s", "classic", FAILED, 9, 9),
)


def test_rounds_that_were_kept_come_to_tables(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    for number, each in enumerate(ROUNDS):
        keep(files[number % 2], each)
    assert sorted(kept_in(files)) == sorted(ROUNDS)
    told = tables(ROUNDS)
    assert "3 rounds in 0.0 hours, 1 failed; load 2.0 to 9.0." in told
    assert "| 1 | leader killed | promote | 2 | 1 | 0 | 1 | 0 | 1 | 0 | 10 | 11 |" in told
    assert "| 3 | source broker frozen | revert | 1 | 1 | 0 | 0 | 0 | 0 | 1 | 9 | 9 |" in told


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        ("the clock of the follower jumps by -3600 s at 4", "the clock of the follower jumps"),
        ("gateway 0 stopped after 2.56 s", "gateway stopped"),
        ("target broker 1 killed for 0.5 s after 2.0 s", "target broker killed"),
        ("4 elections at the source after 3.1 s", "elections at the source"),
    ],
)
def test_troubles_that_differ_in_numbers_are_of_one_kind(trouble: str, kind: str) -> None:
    assert ROUNDS[0]._replace(trouble=trouble).kind == kind


def test_an_outcome_that_comes_again_and_again_is_told_once() -> None:
    again = "refused:PROMOTE_NO_RUN"
    found = ROUNDS[0]._replace(outcomes=f"{again} {again} {again} undone promoted")
    assert f"| {again} .. undone promoted | 1 |" in tables([found])
