"""The choice of the SQL engine: Spark, or DuckDB, which needs no Java."""

from __future__ import annotations

import importlib.util
from enum import StrEnum

from towpath.model.errors import ConfigError, ConfigProblem

_MISSING = "needs duckdb, which is not installed: pip install 'towpath[duckdb]'"


class SqlEngine(StrEnum):
    """The engines that answer SQL."""

    SPARK = "spark"
    DUCKDB = "duckdb"

    @property
    def named(self) -> str:
        """The engine's name, for people."""
        return {SqlEngine.SPARK: "Spark", SqlEngine.DUCKDB: "DuckDB"}[self]


def sql_engine(wanted: SqlEngine | None, master: str | None) -> SqlEngine:
    """Return the SQL engine to use.

    Args:
        wanted: The one that was asked for; `None` for DuckDB where it is installed and no master
            is named, else Spark.
        master: The Spark master that was named.

    Raises:
        ConfigError: DuckDB is not installed, or a Spark master is named for it.
    """
    installed = importlib.util.find_spec("duckdb") is not None
    if wanted is None:
        here = installed and master is None
        return SqlEngine.DUCKDB if here else SqlEngine.SPARK
    if wanted is SqlEngine.DUCKDB:
        if master is not None:
            text = "names a Spark master, and DuckDB has none; leave one of the two out"
            raise ConfigError((ConfigProblem("--engine", text),))
        if not installed:
            raise ConfigError((ConfigProblem("--engine", _MISSING),))
    return wanted
