"""Ledger entries about changes of records (docs/decisions/0034)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.changes import RecordChange
from towpath.model.nouns import LinkName


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedChange:
    """The definition of a change of records, stored under its digest.

    The entry stands here before the first record that was changed so. Recovery needs it after the
    file has changed, to know records again that are on the target already.
    """

    kind: ClassVar[str] = "change"

    link: LinkName
    digest: str
    change: RecordChange

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.digest,)
