"""The section `transform`: records that go through a query of Spark on their way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict, ValidationInfo

from towpath.settings.problems import environment_error
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, between

_FUNCTION = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)")
_SUCH_AS = "must be a file and a function in it, such as `clean.py:clean`"
MOST_OFFSETS = 100_000_000

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]


def _query(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty; a query such as `select * from records`")
    return text


def _function(text: str, info: ValidationInfo) -> str:
    """Return the path of a file and a function in it; a relative path begins at the link's file."""
    found = _FUNCTION.fullmatch(text)
    if found is None:
        raise ValueError(_SUCH_AS)
    path = Path((info.context or {}).get("folder", "."), found["file"]).absolute()
    if not path.is_file():
        raise environment_error(f"{path}: no such file")
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError) as error:
        line, why = "", ""
        if isinstance(error, SyntaxError):
            line, why = f", line {error.lineno}", f" ({error.msg})"
        raise ValueError(f"{path}{line}: is not Python that can be read{why}") from None
    if found["name"] not in set(_functions(tree)):
        known = ", ".join(_functions(tree)) or "none"
        raise ValueError(f"{path} has no function {found['name']}; it has {known}")
    return f"{path}:{found['name']}"


def _functions(tree: ast.Module) -> Iterator[str]:
    yield from (each.name for each in tree.body if isinstance(each, ast.FunctionDef))


class TransformConfig(Section):
    """The query that the records go through, and how they are written."""

    sql: Annotated[str, AfterValidator(_query)] | None = Field(
        None,
        description="A query of Spark SQL on the view `records`, which has the columns `key`,"
        " `value`, `headers`, `topic`, `partition`, `offset`, `timestamp` and `timestampType`.",
    )
    python: Annotated[str, AfterValidator(_function)] | None = Field(
        None,
        description="Instead: a file of Python, and a function in it, which gets a DataFrame with"
        " those columns and returns one, such as `clean.py:clean`; relative to the folder of this"
        " file.",
    )
    max_offsets: Annotated[Count, Strict(), Field(ge=1, le=MOST_OFFSETS)] = Field(
        Count(200_000),
        description="The most offsets of a source partition in one transaction.",
    )
    timeout: Annotated[Duration, between("10s", "1d")] = Field(
        Duration.parse("5m"),
        description="How long a transaction may be open; brokers allow 15 minutes by default"
        " (`transaction.max.timeout.ms`).",
    )
    compression: Codec = Field("lz4", description="How record batches are compressed.")

    @contradictions
    def _one(self) -> Iterator[Placed]:
        if self.sql is not None and self.python is not None:
            yield Placed((), "give `sql` or `python`, not both")

    @property
    def path_and_name(self) -> tuple[Path, str]:
        """The file of Python and the name of the function in it."""
        path, _, name = (self.python or "").rpartition(":")
        return Path(path), name
