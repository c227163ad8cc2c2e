"""Spark that does not start: what is told of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from tests.support.here import shared_spark
from towpath.engine import classes
from towpath.engine.session import cause

LOST = """WARNING: Using incubator modules: jdk.incubator.vector
26/11/21 20:08:54 WARN Utils: Your hostname resolves to a loopback address
26/11/21 20:09:57 ERROR StandaloneSchedulerBackend: Application has been killed. Reason: silent.
java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.
\tat org.apache.spark.SparkContext.assertNotStopped(SparkContext.scala:123)
"""
UNSET = """Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
Exception in thread "main" org.apache.spark.SparkException: HADOOP_CONF_DIR must be set.
\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1)
"""


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (
            LOST,
            "StandaloneSchedulerBackend: Application has been killed. Reason: silent.;"
            " java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
        ),
        (
            UNSET,
            'Exception in thread "main" org.apache.spark.SparkException: HADOOP_CONF_DIR must be'
            " set.",
        ),
        ("", "first second"),
    ],
)
def test_errors_are_told_without_their_stacks(log: str, told: str) -> None:
    assert cause(log, RuntimeError("first\nsecond\nthird")) == told


@pytest.mark.spark
def test_a_jvm_that_ends_first_prints_no_stack(capfd: pytest.CaptureFixture[str]) -> None:
    """PySpark's server of accumulators then reads the end of its connection."""
    server: Any = shared_spark().sparkContext._accumulatorServer
    server.handle_error(None, ("127.0.0.1", 1))
    assert capfd.readouterr().err == ""


@pytest.mark.spark
def test_what_is_sent_to_the_group_of_the_driver_does_not_reach_the_jvm() -> None:
    shared_spark()
    gateway: Any = SparkContext._gateway
    assert os.getpgid(gateway.proc.pid) == gateway.proc.pid


def test_no_archive_of_classes_is_made_beside_a_folder_of_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A JVM with a folder on its class path cannot write one, and would print that."""
    monkeypatch.setenv("TOWPATH_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    assert "ArchiveClassesAtExit" in classes.options()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert classes.options() == ""
