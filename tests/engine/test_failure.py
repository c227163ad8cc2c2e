"""What a failed Spark job says. Pure."""

from __future__ import annotations

import pickle

import pytest

from towpath.archive.errors import CorruptSegmentError
from towpath.cluster.connect.login import SecurityError
from towpath.engine.failure import of_spark
from towpath.model.errors import ClusterError, WorkersError


def test_our_own_sentence_is_found_in_the_text_of_spark() -> None:
    text = """[STREAM_FAILED] Query terminated with exception: Traceback (most recent call last):
  File "copy.py", line 1, in copy
towpath.cluster.connect.login.SecurityError: source: localhost:9 did not take the login"""
    error = of_spark(RuntimeError(text))
    assert isinstance(error, ClusterError)
    assert str(error) == "source: localhost:9 did not take the login"
    assert error.code == SecurityError.code


def test_of_a_function_of_the_user_the_last_line_is_told() -> None:
    text = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "clean.py", line 11, in shout
    raise ValueError("unlucky")
ValueError: unlucky"""
    assert str(of_spark(RuntimeError(text))) == "Spark failed: ValueError: unlucky"
    first = "[DIVIDE_BY_ZERO] Division by zero.\n== SQL (line 1, position 8) =="
    assert str(of_spark(RuntimeError(first))) == "Spark failed: [DIVIDE_BY_ZERO] Division by zero."


@pytest.mark.parametrize(
    ("kind", "code", "exit_code"),
    [
        ("towpath.archive.errors.segment.CorruptSegmentError", CorruptSegmentError.code, 3),
        ("towpath.model.errors.store.StoreAwayError", "STORE_AWAY", 4),
        ("towpath.model.errors.base.TowpathError", "TOWPATH", 1),
        ("towpath.of.another.version.NewError", "CLUSTER", 4),
    ],
)
def test_an_error_of_a_task_keeps_its_code(kind: str, code: str, exit_code: int) -> None:
    error = of_spark(RuntimeError(f"Job aborted: Traceback\n{kind}: the sentence\n  at org.apache"))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (error.code, error.exit_code, str(error)) == (code, exit_code, "the sentence")
    assert (again.code, again.exit_code, str(again)) == (code, exit_code, "the sentence")
    assert str(error.reason) == "the sentence"


def test_workers_that_cannot_run_slices_are_an_error_of_their_own() -> None:
    """It is the user who must act, so a run ends with it."""
    text = """Job aborted: org.apache.spark.SparkException:
Error from python worker:
  towpath.model.errors.WorkersError: the worker w1 cannot run slices: the archive needs a Python
PYTHONPATH was:"""
    error = of_spark(RuntimeError(text))
    assert (type(error), error.exit_code) == (WorkersError, 4)
    assert str(error) == "the worker w1 cannot run slices: the archive needs a Python"


def test_what_is_none_of_ours_is_told_by_its_first_line() -> None:
    error = of_spark(RuntimeError("Job aborted.\n  at org.apache.spark"))
    assert (type(error).__name__, str(error)) == ("TowpathError", "Spark failed: Job aborted.")
    assert str(of_spark(RuntimeError(""))) == "Spark failed: RuntimeError"
