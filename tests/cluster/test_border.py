from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from towpath.cluster.connect import border
from towpath.cluster.connect.border import broker_errors
from towpath.cluster.connect.exchange import StrangeAnswerError
from towpath.model.errors import RefusedError, UnreachableError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "no answer in time"),
        (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer"),
        (StrangeAnswerError(b"HTTP"), "the answer is none of Kafka's protocol"),
    ],
)
def test_what_sockets_do_is_translated(error: Exception, words: str) -> None:
    with pytest.raises(UnreachableError) as caught, broker_errors("target", "asking"):
        raise error
    assert str(caught.value).startswith("target: asking: ")
    assert words in str(caught.value)


def test_errors_of_ours_and_faults_pass() -> None:
    with pytest.raises(RefusedError), broker_errors("target", "asking"):
        raise RefusedError("target", "x", 3, "y")
    with pytest.raises(KeyError), broker_errors("target", "asking"):
        raise KeyError("x")


@pytest.fixture
def written() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)


def test_loggers_of_kafka_python_write_nothing(written: list[str]) -> None:
    border.silence()
    logging.getLogger("kafka.admin.client").debug("Starting with %s", {"sasl_plain_password": "x"})
    child = logging.getLogger("kafka.net.connection")
    child.setLevel(logging.DEBUG)
    child.error("password x")
    child.setLevel(logging.NOTSET)
    logging.getLogger("other").debug("heard")
    assert written == ["heard"]
