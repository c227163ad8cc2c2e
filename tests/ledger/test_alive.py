"""Whether the process that gave a sign of life is known to have ended."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from towpath.ledger.alive import Life, RunLife, birth, is_gone, this_host, this_space
from towpath.ledger.entries import Session
from towpath.model.nouns import LinkName
from towpath.runtime.clock import now_ms


@pytest.fixture
def sign() -> Session:
    """Return the sign of a process that has ended on this machine."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(60)
    return Session(
        link=LinkName("shop"), run_id="one", host=this_host(), pid=ended.pid, started=1,
        beat=now_ms(), ended_round=0, over=False, space=this_space(),
    )  # fmt: skip


def test_a_process_that_ended_here_is_gone(sign: Session) -> None:
    assert is_gone(sign)
    assert is_gone(replace(sign, space="")), "an older version told of no space"
    assert not is_gone(replace(sign, pid=os.getpid()))
    assert RunLife.of(sign).state is Life.DEAD


def test_a_process_that_nobody_asked_for_its_end_is_gone(sign: Session) -> None:
    """The first process of a container may never do so."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    assert not is_gone(replace(sign, pid=process.pid))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(replace(sign, pid=process.pid))
    process.wait()


def test_a_process_whose_id_another_one_has_since_is_gone(sign: Session) -> None:
    """A busy machine gives ids again within minutes."""
    ours = replace(sign, pid=os.getpid(), born=birth())
    assert birth() == birth(os.getpid()) > 0
    assert birth(sign.pid) == 0, "it has ended"
    assert not is_gone(ours)
    assert is_gone(replace(ours, born=birth() - 1))
    assert RunLife.of(replace(ours, born=birth() - 1)).state is Life.DEAD
    assert not is_gone(replace(ours, born=0)), "an older version did not tell"
    assert not is_gone(replace(ours, born=birth() - 1, space="another"))


def test_of_processes_elsewhere_nobody_knows(sign: Session) -> None:
    """Containers may have one host name; the ids of their processes mean others."""
    for other in replace(sign, space="another"), replace(sign, host="another"):
        assert not is_gone(other)
        assert RunLife.of(other).state is Life.ALIVE
