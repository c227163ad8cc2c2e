"""Free ports, also when several processes ask at once."""

from __future__ import annotations

import copy
import os
import socket
import subprocess
import sys

import psutil
import pytest

from towpath.dev import ports
from towpath.dev.errors import PortTakenError


def test_ports_lie_below_the_ephemeral_range() -> None:
    got = ports.reserve(20)
    assert len(set(got)) == 20
    assert min(got) >= ports.LOWEST
    assert max(got) < ports.ephemeral_start() <= 32_768


def test_a_reserved_port_is_not_given_twice() -> None:
    """Not even to another process that begins at the same place."""
    mine = ports.reserve(5, seed=7)
    script = "from towpath.dev import ports; print(*ports.reserve(5, seed=7))"
    path = os.pathsep.join(each for each in sys.path if each)
    answer = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    theirs = [int(each) for each in answer.stdout.split()]
    assert len(theirs) == 5
    assert not set(mine) & set(theirs)
    assert not set(mine) & set(ports.reserve(5, seed=7))


def test_a_taken_port_is_refused_by_name() -> None:
    (port,) = ports.reserve(1)
    ports.require_free(port)
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(PortTakenError) as caught:
            ports.require_free(port)
        assert not ports.is_free(port)
    text = str(caught.value)
    assert text.startswith(f"port {port} on 127.0.0.1 is taken")
    assert text.endswith("; stop what listens there, or choose another port")
    # macOS names the holder only to root.
    assert caught.value.holder in {"", f"process {os.getpid()} ({psutil.Process().name()})"}
    assert str(copy.copy(caught.value)) == text
