"""The optional extras of Towpath, and the libraries of each, as in `pyproject.toml`.

`pip install towpath` brings what needs no Spark; the rest is asked for by name, such as
`towpath[spark]`.
"""

from __future__ import annotations

from importlib.util import find_spec

from towpath.model.errors import ExtraMissingError

SPARK = "spark"
_EXTRAS = {
    "pyspark": SPARK,
    "py4j": SPARK,
    "numba": SPARK,
    "llvmlite": SPARK,
    "pyarrow": SPARK,
    "xxhash": SPARK,
    "botocore": "s3",
    "urllib3": "s3",
    "kazoo": "zookeeper",
    "fastapi": "http",
    "uvicorn": "http",
}
_PROBED = "pyspark", "numba", "pyarrow", "xxhash"
"""What the extra `spark` brings; the others come with these."""


def require_spark(what: str) -> None:
    """Raise if the extra `spark` is not installed; nothing is imported.

    Args:
        what: The command that needs it.

    Raises:
        ExtraMissingError: A library of it is missing.
    """
    for library in _PROBED:
        if find_spec(library) is None:
            raise ExtraMissingError(what, library, SPARK)


def missing_extra(what: str, error: BaseException) -> ExtraMissingError | None:
    """Return the error for a failed import, `None` if no extra would help.

    Args:
        what: The command that was asked for.
        error: What importing raised.
    """
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    library = error.name.partition(".")[0]
    extra = _EXTRAS.get(library)
    return ExtraMissingError(what, library, extra) if extra else None
