"""The error of a SQL engine."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class QueryError(TowpathError):
    """The SQL engine rejects a query of an archive, or fails; the text is the engine's."""

    code = "QUERY"
    exit_code = 2

    def __init__(self, said: str, advice: str = "") -> None:
        super().__init__(said, advice)
        self.said, self.advice = said, advice

    def __str__(self) -> str:
        told = f"the query cannot be answered: {self.said}"
        return f"{told.rstrip('.')}; {self.advice}" if self.advice else told
