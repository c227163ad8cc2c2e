"""`down` stops only what `up` started; `cli/test_dev.py` tests both with brokers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from towpath.dev import updown
from towpath.dev.process import Identity


def test_a_recycled_pid_is_never_stopped(tmp_path: Path) -> None:
    """The file names a living process that started at another time than it says."""
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with bystander:
        known = Identity.of(bystander.pid)
        assert known.process() is not None
        fact = {
            "side": "source",
            "bootstrap": "127.0.0.1:9092",
            "version": "4.3.1",
            "process": {"pid": known.pid, "started": known.started - 60},
        }
        (tmp_path / "running.json").write_text(json.dumps([fact]))
        assert updown.down(tmp_path) == ()
        assert bystander.poll() is None
        bystander.communicate(b"\n")
