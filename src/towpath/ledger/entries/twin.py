"""Ledger entry about the link in the other direction that writes the same topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.nouns import LinkName


@dataclass(frozen=True, slots=True, kw_only=True)
class Twinned:
    """The twin that a link's file names; "" once the file names none.

    A twin copies the same topics in the other direction. The entry stands here before the link
    copies any record, so the twin, which reads this ledger beside the topics that it copies, knows
    that the link leaves out what the twin writes.
    """

    kind: ClassVar[str] = "twin"

    link: LinkName
    twin: LinkName
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return ()
