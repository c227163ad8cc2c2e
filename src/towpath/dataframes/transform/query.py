"""The query of a link on the frame of its records, and the checks of what it makes of them."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pyspark import cloudpickle
from pyspark.errors import PySparkException, QueryContextType
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame

from towpath.dataframes.sink.options import column_problems
from towpath.dataframes.source import make_active
from towpath.engine.border import require_jvm
from towpath.model.foreign import foreign, printed
from towpath.settings import TransformConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEW = "records"
_KEPT = ("key", "value", "headers", "topic", "timestamp")
"""Columns of records that change their partition alone."""
_MODULE = "towpath_transform_of_link"
_PLACE = re.compile(r"\(line (\d+), pos (\d+)\)")
_BEHIND = re.compile(r"\n\n|\n== |;(?: line \d+ pos \d+;?)?\s*\n")
"""What stands behind the sentence of an error: the text of the query, or the plan made of it."""
_TRACES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers by which PySpark writes the trace of each error of a query to standard error."""
_PASSING = re.compile(
    r"(Project|Filter|Generate|Sample|InputAdapter|WholeStageCodegen.*|ColumnarToRow|RowToColumnar"
    r"|MapInArrow|MapInPandas|ArrowEvalPython|BatchEvalPython|ArrowEvalPythonUDTF"
    r"|BatchEvalPythonUDTF|CollectMetrics|DeserializeToObject|SerializeFromObject|MapElements"
    r"|MapPartitions|BroadcastHashJoin|BroadcastNestedLoopJoin)"
)
"""Steps of a plan that keep each row in its task, and rows in their order."""
_ARROW_FUNCTIONS = "spark.sql.execution.pythonUDF.arrow.enabled"
"""Setting of Spark that needs pandas; without, functions of Python get rows all the same."""
_JOINS = "Broadcast"
_RECORDS = "BatchScan"
"""How the step of a plan begins that reads records."""
_OF_THE_MOMENT = frozenset(
    {"current_timestamp", "now", "current_date", "localtimestamp", "current_time", "current_user",
     "session_user", "user", "current_database", "current_catalog"}
)  # fmt: skip
"""Functions that Spark takes for deterministic, as each query has one answer."""


class LinkQueryError(ValueError):
    """A query that cannot be used, with the place in the file.

    Args:
        key: `sql` or `python`.
        text: Why, and what to do.
    """

    def __init__(self, key: str, text: str) -> None:
        super().__init__(key, text)
        self.key, self.text = key, text


@dataclass(frozen=True, slots=True)
class QueryDoubts:
    """Why a query may make other records of the same ones another time.

    Attributes:
        never: Why it does, "" if nothing in it says so.
        python: Whether it calls Python, which may look elsewhere.
        joins: Whether it reads other data as well, which may have changed.
        routes: Whether it may send records to mirror topics of other topics.
    """

    never: str = ""
    python: bool = False
    joins: bool = False
    routes: bool = False


class LinkQuery:
    """The query of a link.

    Args:
        spark: The session.
        wanted: What the file says.

    Raises:
        LinkQueryError: The file of Python cannot be imported.
    """

    def __init__(self, spark: SparkSession, wanted: TransformConfig) -> None:
        self._spark, self._wanted = spark, wanted
        self._key = "sql" if wanted.python is None else "python"
        self._function = self._loaded() if wanted.python is not None else None
        make_active(spark)
        for name in _TRACES:
            PySparkLogger.getLogger(name).disabled = True
        # A lookup that is broadcast is planned at once, so that its plan can be looked at.
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        if importlib.util.find_spec("pandas") is None:  # or PySpark warns of each function
            spark.conf.set(_ARROW_FUNCTIONS, "false")

    def of(self, frame: DataFrame) -> DataFrame:
        """Return what the query makes of records.

        Raises:
            LinkQueryError: It is wrong, moves rows between tasks, or makes no records.
            SparkLostError: The JVM is gone.
        """
        try:
            made = self._made(frame)
        except LinkQueryError:
            raise
        except PySparkException as error:
            said = self._line_of(error) + _said(error, self._wanted.sql)
            raise LinkQueryError(self._key, said) from None
        except (Exception, SystemExit) as error:  # noqa: BLE001, whatever the function of the user raises
            require_jvm(self._spark)  # or it is no fault of the function
            raise LinkQueryError(self._key, self._line_of(error) + _raised(error)) from None
        self._check(made)
        return made

    def doubts(self, made: DataFrame) -> QueryDoubts:
        """Return why a query may make other records of the same ones another time."""
        plan = cast("Any", made)._jdf.queryExecution().analyzed()  # noqa: SLF001, as in `_plan`
        names = {*_functions(plan)}
        moment = sorted(names & _OF_THE_MOMENT)
        why = f"the query has `{moment[0]}`" if moment else ""
        if not plan.deterministic():
            why = "the query has functions that are not deterministic"
        steps = {*_steps(_plan(made))}
        python = any("Python" in each or each.startswith("MapIn") for each in steps)
        own = self._wanted.sql is None and self._function is None
        routes = "topic" in made.columns and not own
        return QueryDoubts(why, python, any(_JOINS in each for each in steps), routes)

    def _made(self, frame: DataFrame) -> DataFrame:
        if self._wanted.sql is not None:
            frame.createOrReplaceTempView(VIEW)
            return self._spark.sql(self._wanted.sql)
        if self._function is None:
            return frame.select(*_KEPT)
        with _quietly():
            made = self._function(frame)
        if not isinstance(made, DataFrame):
            raise LinkQueryError(
                self._key, f"returns {type(made).__name__}, must return a DataFrame"
            )
        return made

    def _check(self, made: DataFrame) -> None:
        try:
            names = {each.name: each.dataType.simpleString() for each in made.schema.fields}
            plan = _plan(made)
        except PySparkException as error:
            raise LinkQueryError(self._key, _said(error, self._wanted.sql)) from None
        if problems := "; ".join(each.sentence for each in column_problems(names)):
            raise LinkQueryError(self._key, problems)
        if not any(name.startswith(_RECORDS) for name in _steps(plan)):
            raise LinkQueryError(
                self._key,
                "nothing of `records` is read: the query has other data alone, or a condition that"
                " no record can meet, such as `where false`",
            )
        moving = list(dict.fromkeys(_moving(plan)))
        if moving:
            raise LinkQueryError(
                self._key,
                f"has steps that move rows between tasks ({', '.join(moving)}), so records would"
                " lose their order: leave out `order by`, `group by`, `distinct`, `limit`,"
                " windows, unions and subqueries; join with what is small enough to be broadcast",
            )

    def _line_of(self, error: BaseException) -> str:
        """Return the file and line of the user's Python that raised, "" where it is not there."""
        if self._wanted.python is None:
            return ""
        path, _ = self._wanted.path_and_name
        frames = traceback.extract_tb(error.__traceback__)
        lines = [each.lineno for each in frames if each.filename == str(path)]
        return f"{path}, line {lines[-1]}: " if lines else ""

    def _loaded(self) -> Callable[[DataFrame], object]:
        path, name = self._wanted.path_and_name
        spec = importlib.util.spec_from_file_location(_MODULE, path)
        if spec is None or spec.loader is None:
            raise LinkQueryError(self._key, f"{path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[_MODULE] = module
        try:
            with _quietly():
                spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # noqa: BLE001, whatever the file of the user does
            raise LinkQueryError(
                self._key, (self._line_of(error) or f"{path}: ") + _raised(error)
            ) from None
        # Workers have no such module, so what it defines is sent to them.
        cast("Any", cloudpickle).register_pickle_by_value(module)
        return cast("Callable[[DataFrame], object]", getattr(module, name))


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence what PySpark warns of a function with type hints where pandas is missing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Cannot infer the eval type", UserWarning)
        yield


def _raised(error: BaseException) -> str:
    """Return what the Python of a user raised; an exit of its program is none of ours."""
    return f"{type(error).__name__}: {foreign(error)}"


def _said(error: PySparkException, sql: str | None) -> str:
    """Return the first line of what Spark says, with the line and column in the query.

    Args:
        error: What Spark raised.
        sql: The query, if it is known.
    """
    text = printed(str(error))
    first = " ".join(_BEHIND.split(text)[0].split())
    found = _PLACE.search(text)
    if found is None:
        return f"{_context(error, sql)}{first}"
    said = " ".join(_PLACE.sub("", first).split())
    return f"line {found[1]}, column {int(found[2]) + 1} of the query: {said}"


def _context(error: PySparkException, sql: str | None) -> str:
    """Return where in the query an error is, "" if Spark does not say it."""
    for each in error.getQueryContext() or []:
        if each.contextType() is QueryContextType.SQL and each.fragment():
            at = each.startIndex()
            if sql is None:
                return f"at `{each.fragment()}` (character {at + 1} of the query): "
            line, column = sql.count("\n", 0, at) + 1, at - sql.rfind("\n", 0, at)
            return f"at `{each.fragment()}` (line {line}, column {column} of the query): "
    return ""


def _plan(made: DataFrame) -> Any:
    return cast("Any", made)._jdf.queryExecution().executedPlan()  # noqa: SLF001, Spark shows it nowhere else


def _moving(plan: Any) -> Iterator[str]:
    """Yield the steps of a plan that move rows, from its end to the records."""
    name = str(plan.nodeName())
    children = [plan.children().apply(n) for n in range(plan.children().size())]
    if name.startswith(_RECORDS):
        return
    if not _PASSING.fullmatch(name):
        yield name
        return
    if name.startswith(_JOINS):
        children = [each for each in children if "BroadcastExchange" not in _names(each)]
    for each in children:
        yield from _moving(each)


def _steps(plan: Any) -> Iterator[str]:
    """Yield the names of all steps of a plan."""
    yield str(plan.nodeName())
    for number in range(plan.children().size()):
        yield from _steps(plan.children().apply(number))


def _functions(plan: Any) -> Iterator[str]:
    """Yield the names of all functions in a plan, and in the steps below it."""
    expressions = plan.expressions()
    for number in range(expressions.size()):
        yield from _called(expressions.apply(number))
    for number in range(plan.children().size()):
        yield from _functions(plan.children().apply(number))


def _called(expression: Any) -> Iterator[str]:
    yield str(expression.prettyName())
    for number in range(expression.children().size()):
        yield from _called(expression.children().apply(number))


def _names(plan: Any) -> str:
    """Return the name of a step, below what Spark puts around steps."""
    name = str(plan.nodeName())
    while name == "InputAdapter":
        plan = plan.children().apply(0)
        name = str(plan.nodeName())
    return name
