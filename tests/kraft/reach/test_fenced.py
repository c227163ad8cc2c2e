"""What a process that was frozen may still do to a node once another one works on the cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from towpath.kraft.config.drivers import LocalDriver
from towpath.kraft.errors import ZooKeeperLockLostError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.fenced import FencedDriver
from towpath.kraft.reach.local import LocalNode
from towpath.runtime.deadline import Deadline


def lost() -> None:
    raise ZooKeeperLockLostError("/towpath_kraft_lock")


def test_nothing_is_changed_once_the_lock_was_lost(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a=1\n")
    path, soon = str(tmp_path / "file"), Deadline.after(5)
    start = (sys.executable, "-c", "pass")
    config = LocalDriver(via="local", start=start, format=("true",), folder=str(tmp_path / "run"))
    node = FencedDriver(LocalNode(config, NodeId(7), Role.BROKER, path), lost)
    for change in (
        node.start,
        lambda: node.stop(soon),
        lambda: node.write(path, b"b=2\n"),
        lambda: node.remove(path),
        lambda: node.run(("touch", f"{path}.new"), soon),
    ):
        with pytest.raises(ZooKeeperLockLostError):
            change()
    assert node.read(path) == b"a=1\n"
    assert node.started() is None
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file"]
