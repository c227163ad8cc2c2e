"""A Spark master that does not answer is told within ten seconds, and no JVM waits for it."""

from __future__ import annotations

import re
import socket
import threading
import time

import pytest

from towpath.engine.master import require_answer
from towpath.engine.session import session
from towpath.model.errors import JavaError, SparkStartError

NOBODY = "no-such-host.invalid"


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_closed_port_is_told_at_once() -> None:
    port = closed_port()
    began = time.monotonic()
    with pytest.raises(SparkStartError) as caught:
        session(f"spark://127.0.0.1:{port}", "tests", credentials=False)
    assert time.monotonic() - began < 10
    assert str(caught.value).startswith(
        f"Spark did not start: the master 127.0.0.1:{port}: nothing listens there (connection"
        " refused); start the master, or correct the port; check `--master`"
    )


def test_a_port_that_accepts_and_never_answers_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(SparkStartError) as caught:
            require_answer(f"spark://{master}", patience=0.3)
    assert caught.value.why == (
        f"the master {master}: nothing answered within 0.3 s; is it a Spark master, and alive?"
    )


def test_a_name_that_does_not_resolve_is_told() -> None:
    with pytest.raises(SparkStartError, match=rf"{re.escape(NOBODY)}:7077: .*") as caught:
        require_answer(f"spark://{NOBODY}:7077", patience=5)
    assert "does not resolve" in caught.value.why or "nothing answered" in caught.value.why


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"x")

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        require_answer(f"spark://127.0.0.1:{closed_port()},127.0.0.1:{port}")
        thread.join()


def test_a_connection_that_is_closed_is_an_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close() -> None:
            connection, _ = server.accept()
            connection.close()

        thread = threading.Thread(target=close)
        thread.start()
        require_answer(f"spark://127.0.0.1:{server.getsockname()[1]}")
        thread.join()


@pytest.mark.parametrize("master", [None, "local[2]", "yarn", "k8s://https://nowhere.invalid:1"])
def test_other_masters_are_not_asked(master: str | None) -> None:
    require_answer(master)


def test_spark_without_java_says_what_dev_up_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(JavaError, match="no java command on PATH, and JAVA_HOME is not set; inst"):
        session(None, "tests", credentials=False)
