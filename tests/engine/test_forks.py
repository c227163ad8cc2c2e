"""The processes that work for a run on this machine, before any of them works. Pure."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from towpath.engine import forks
from towpath.wire import loops


def test_an_output_that_is_closed_keeps_no_loop_from_being_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed, done = io.StringIO(), tmp_path / "done"
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    monkeypatch.setattr(loops, "compiled", lambda: False)
    monkeypatch.setattr(loops, "compile_all", lambda _: done.touch())
    forks._compile()
    assert done.exists()
