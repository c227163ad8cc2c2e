"""Counts of changed records of a partition, sorted for people. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from towpath.ledger.entries import FROM_ARCHIVE, FROM_TWIN, Tally

_REWRITTEN = ("ids", "headers", "redacted")
_UNCHANGED = ("bad_ids", "unchanged_ids")


@dataclass(frozen=True, slots=True)
class ChangedParts:
    """Counts of changed records since a mirror topic was begun.

    Attributes:
        dropped: Records that were not copied, by the name of the rule.
        rewritten: Parts of records that were written anew: `ids` of schemas, `headers`, and values
            of headers that were `redacted`.
        unchanged: Ids of schemas that passed as they were, by the code of the reason.
        from_archive: Records that came from an archive, as the source had deleted them.
        from_twin: Records that were left out, as the twin of the link wrote them.
    """

    dropped: Mapping[str, int]
    rewritten: Mapping[str, int]
    unchanged: Mapping[str, int]
    from_archive: int = 0
    from_twin: int = 0

    @classmethod
    def of(cls, tally: Tally) -> ChangedParts:
        """Sort the counts in a partition's receipts."""
        from_archive = from_twin = 0
        dropped, rewritten, unchanged = Counter[str](), Counter[str](), Counter[str]()
        for kind, number in tally:
            what, _, name = kind.partition(":")
            if what == "dropped":
                dropped[name] += number
            elif what in _UNCHANGED:
                unchanged[name] += number
            elif what in _REWRITTEN:
                rewritten[what] += number
            elif what == FROM_ARCHIVE:
                from_archive += number
            elif what == FROM_TWIN:
                from_twin += number
        return cls(dropped, rewritten, unchanged, from_archive, from_twin)
