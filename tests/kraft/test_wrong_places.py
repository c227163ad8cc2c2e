"""A file that names a wrong folder of processes, or a port that is taken, on a real cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kraft.runs import arguments, steps
from towpath.dev.zookeeper import ZooKeeperCluster

pytestmark = [pytest.mark.soak, pytest.mark.broker]


def test_wrong_places_are_refused_before_anything_is_written(tmp_path: Path, here: Here) -> None:
    with ZooKeeperCluster(1, 1, home=tmp_path) as lab:
        right, file = lab.config.read_text(), lab.files.properties(1)
        before = file.read_bytes()
        own = f"127.0.0.1:{lab.ports.controllers[0]}"
        taken = f"127.0.0.1:{lab.ports.zookeeper}"
        for wrong, text in (
            (right.replace(str(lab.files.run), str(tmp_path / "elsewhere")),
             "nodes 1 answer at their addresses, and their driver says that they do not run"),
            (right.replace(own, f"127.0.0.1:{lab.ports.internal[0]}"),
             "nodes 3000 answer at their addresses, and their driver says that they do not run"),
            (right.replace(own, taken),
             f"something listens where no controller runs yet: {taken} of controller 3000"),
        ):  # fmt: skip
            assert wrong != right
            lab.config.write_text(wrong)
            for command in ("kraft", "check", str(lab.config)), arguments(lab, "run"):
                told = here(*command)
                assert (told.code, text in " ".join(told.said.split())) == (3, True), told.said
            assert file.read_bytes() == before
        assert steps(lab) == []
