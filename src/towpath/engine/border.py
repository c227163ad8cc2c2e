"""Translation of Spark's exceptions into Towpath's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from towpath.model.errors import SparkLostError
from towpath.model.foreign import printed

GONE = (Py4JError, OSError)
"""The errors raised by a call into a JVM that has exited, unless it answered with an error."""
_WAITING = "Exception thrown in awaitResult"
"""What Spark says of a job beside its cause."""
_CAUSE = "Caused by: "


@contextmanager
def border() -> Iterator[None]:
    """Translate the exceptions of calls into Spark, within a context.

    Raises:
        RuntimeError: A job failed; the text is Spark's.
        SparkLostError: The JVM is gone.
    """
    try:
        yield
    except PySparkException as error:
        raise RuntimeError(printed(str(error))) from None
    except Py4JJavaError as error:  # those that PySpark has no class for, as of workers that die
        raise RuntimeError(printed(java_text(error))) from None
    except GONE as error:
        raise SparkLostError from error


def require_jvm(spark: SparkSession) -> None:
    """Raise if Spark's JVM does not answer.

    Raises:
        SparkLostError: The JVM is gone.
    """
    with border():
        session: Any = spark._jsparkSession  # noqa: SLF001  # `spark.version` is kept by PySpark
        session.version()


def java_text(error: Py4JJavaError) -> str:
    """Return what the JVM says of an error: a line that tells it, and the rest.

    Raises:
        SparkLostError: The JVM has exited meanwhile.
    """
    try:
        lines = str(error).splitlines()[1:]  # the first line names the call
    except GONE as lost:
        raise SparkLostError from lost
    told = [line for line in lines if line.startswith((": ", _CAUSE))]
    first = next((line for line in told if _WAITING not in line), "no reason is known")
    return "\n".join([first.removeprefix(": ").removeprefix(_CAUSE), *lines])
