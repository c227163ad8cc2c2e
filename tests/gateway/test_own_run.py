"""A run that a command starts for itself: what it tells, and that it never outlives the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.support.kafka import wait_until
from tests.support.program import environment
from towpath.gateway.own_run import OwnRun
from towpath.model.reasons import Reason, ReasonCode

WAITS = "import signal, time; print('begun', flush=True); time.sleep(600)"
FAILED = """
import sys, json
print(json.dumps({"error": {"code": "LINK_BUSY", "text": "it runs on h", "problems": []}}))
sys.exit(4)
"""
SAYS = "import sys; sys.stderr.write('one\\ntwo\\nthree\\nfour\\n'); sys.exit(1)"
STARTER = """
import sys, time
from towpath.gateway.own_run import OwnRun
from pathlib import Path
child = (
    "import os, sys, time;from towpath.cli.starter import end_with_starter;"
    "end_with_starter(); open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
)
with OwnRun([sys.executable, "-c", child, sys.argv[1]]):
    time.sleep(600)
"""


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_it_is_ended_with_its_block() -> None:
    with OwnRun(program(WAITS)) as run:
        assert run.exit_code is None
    assert run.exit_code == 128 + signal.SIGTERM
    assert run.seconds >= 0


def test_one_that_ended_by_itself_tells_its_error_with_its_code() -> None:
    with OwnRun(program(FAILED)) as run:
        why = run.why_ended()
    inner = Reason.of(ReasonCode.ERROR, error="LINK_BUSY", text="it runs on h")
    assert why == Reason.of(ReasonCode.PROMOTE_RUN, what="ended with exit code 4", why=inner)
    assert why.codes == ("PROMOTE_RUN", "LINK_BUSY")
    assert str(why).endswith("ended with exit code 4: it runs on h")


def test_one_without_a_document_is_told_by_its_last_lines() -> None:
    with OwnRun(program(SAYS)) as run:
        why = run.why_ended()
    assert dict(why.values) == {"what": "ended with exit code 1", "why": "two three four"}


def test_it_ends_where_the_command_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(told)], env=environment())
    try:
        wait_until(lambda: told.exists() and bool(told.read_text()), "the run begins", 60)
        pid = int(told.read_text())
        assert psutil.pid_exists(pid)
        os.kill(starter.pid, signal.SIGKILL)
        starter.wait(30)
        wait_until(lambda: not _runs(pid), "the run ends", 60)
    finally:
        starter.kill()
        starter.wait()


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
