"""The border to Spark: what its calls raise becomes what callers know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from towpath.model.errors import SparkLostError
from towpath.model.foreign import printed

GONE = (Py4JError, OSError)
"""What a call gives whose JVM ended."""


@contextmanager
def border() -> Iterator[None]:
    """Translate what calls of Spark raise.

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
