"""Translation of Spark's exceptions into Towpath's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from towpath.model.errors import SparkLostError
from towpath.model.foreign import printed

GONE = (Py4JError, OSError)
"""The errors raised by a call into a JVM that has exited."""


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
    except GONE as error:
        raise SparkLostError from error
