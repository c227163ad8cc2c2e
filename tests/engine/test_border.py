"""Spark's JVM may end at any moment; whoever calls it hears one error of ours."""

from __future__ import annotations

import os
import threading

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from tests.support.here import shared_spark
from tests.support.session.ended_jvm import Ended
from towpath.engine import watching
from towpath.engine.batch import run
from towpath.engine.border import border, require_jvm
from towpath.engine.failure import of_spark
from towpath.engine.rounds import Job, Rounds
from towpath.model.errors import SparkLostError


@pytest.mark.parametrize("calls", range(6))
def test_rounds_that_cannot_begin(calls: int) -> None:
    threads = {*threading.enumerate()}
    with pytest.raises(SparkLostError):
        Rounds(Ended(calls), Job(lambda _: [], "os:getcwd", "n INT", once=True), print)  # type: ignore[arg-type]
    assert {*threading.enumerate()} <= threads


@pytest.mark.parametrize(("slices", "calls"), [([], 0), ([1], 0), ([1], 3), ([1], 7)])
def test_slices_that_cannot_run(slices: list[int], calls: int) -> None:
    with pytest.raises(SparkLostError):
        run(Ended(calls), slices, iter, "n INT", lambda *_: None, threading.Event())  # type: ignore[arg-type]


def test_who_looks_at_progress_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_LOOK", 0.0)
    watch = watching.JobsWatch(Ended(3), lambda *_: None, threading.Event(), 1)  # type: ignore[arg-type]
    with watch:
        watch._thread.join(10)
        assert not watch._thread.is_alive()


class JavaError:
    """An exception of a JVM that still answers, or that has ended meanwhile."""

    _target_id = "o1"

    def __init__(self, text: str | None) -> None:
        self._text = text
        self._gateway_client = self

    def send_command(self, _command: str) -> str:
        if self._text is None:
            raise Py4JNetworkError("Answer from Java side is empty")
        return "ys" + self._text.replace("\n", "\\n")


ABORTED = "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed 4 times"
STACK = "\n\tat org.apache.spark.Some.code(Some.scala:1)\nCaused by: "


@pytest.mark.parametrize(
    "text",
    [
        ABORTED,
        f"{ABORTED}{STACK}java.io.EOFException",
        f"org.apache.spark.SparkException: Exception thrown in awaitResult: {STACK}{ABORTED}",
    ],
)
def test_an_error_that_a_jvm_tells_is_no_sign_of_its_end(text: str) -> None:
    """PySpark has no class for some, such as those of jobs whose workers die."""
    with pytest.raises(RuntimeError) as found, border():
        raise Py4JJavaError("An error occurred while calling o1.save.\n", JavaError(text))
    assert str(of_spark(found.value)) == f"Spark failed: {ABORTED}"


def test_a_jvm_that_ends_while_it_tells_is_gone() -> None:
    with pytest.raises(SparkLostError), border():
        raise Py4JJavaError("An error occurred while calling o1.save.\n", JavaError(None))


@pytest.mark.spark
def test_what_pyspark_keeps_says_nothing_of_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = shared_spark()
    require_jvm(spark)
    assert spark.version
    monkeypatch.setattr(spark, "_jsparkSession", Ended())
    with pytest.raises(SparkLostError):
        require_jvm(spark)


@pytest.mark.spark
def test_workers_that_die_do_not_end_spark() -> None:
    spark = shared_spark()
    with pytest.raises(RuntimeError, match="Python worker exited unexpectedly"), border():
        spark.sparkContext.parallelize([1], 1).foreach(lambda _: os._exit(9))
    assert spark.range(3).count() == 3
