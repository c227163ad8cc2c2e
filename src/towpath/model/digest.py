"""The digest of a range of records, which shows whether two logs are equal.

It is a plain value; `wire/digest.py` computes it, and says what it covers.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD = 1 << 64
STEP = 0xD1342543DE82EF95  # odd, so no step of the ordered digest loses a bit


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of a range of records.

    Attributes:
        records: Number of records.
        unordered: Equal for the same records in any order.
        ordered: Equal for the same records in the same order.
    """

    records: int = 0
    unordered: int = 0
    ordered: int = 0

    def then(self, other: Digest) -> Digest:
        """Return the digest of this range followed by the `other` one. Associative."""
        return Digest(
            self.records + other.records,
            (self.unordered + other.unordered) % WORD,
            (self.ordered * pow(STEP, other.records, WORD) + other.ordered) % WORD,
        )
