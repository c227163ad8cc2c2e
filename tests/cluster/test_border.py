from __future__ import annotations

import inspect
import logging
import struct
from collections.abc import Iterator

import pytest
from kafka import errors

from towpath.cluster import border
from towpath.cluster.border import broker_errors, translated
from towpath.model.errors import RefusedError, UnreachableError

ROOTS = {errors.KafkaError, errors.BrokerResponseError, errors.AuthorizationError}
"""Never raised themselves."""
KINDS = sorted(
    {
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.KafkaError)
    }
    - ROOTS,
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_exception_of_kafka_python_has_its_translation(kind: type[errors.KafkaError]) -> None:
    error = kind({}) if kind is errors.LogTruncationError else kind()
    ours = translated("source", "asking", error)
    if issubclass(kind, errors.BrokerResponseError):
        assert isinstance(ours, RefusedError)
        assert ours.error == kind.errno
    else:
        assert isinstance(ours, UnreachableError)
        assert "cannot be read" not in ours.why, "not in the border's table"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "no answer in time"),
        (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer"),
        (struct.error("short"), "the answer cannot be read (short)"),
        (errors.KafkaTimeoutError("30 s"), "no answer in time (30 s)"),
    ],
)
def test_what_sockets_and_bytes_do_is_translated_too(error: Exception, words: str) -> None:
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
