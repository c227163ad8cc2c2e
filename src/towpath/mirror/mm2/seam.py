"""The search for the source record that is the last one in a mirror topic. Pure.

MirrorMaker 2 notes its positions once a minute. If it did not end in good order, the mirror topic
holds more than they tell, and copying from there on would write records twice. So the last records
of the mirror topic are looked for at the source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from towpath.model.nouns import SourceOffset
from towpath.wire.plain import Record

Digest = bytes


@dataclass(frozen=True, slots=True)
class Seam:
    """The end of a mirror topic, as a source offset.

    Attributes:
        next: The first source offset that the mirror topic does not hold.
        compared: How many records before it are the same on both sides.
    """

    next: SourceOffset
    compared: int


def digest(record: Record, *, with_time: bool) -> Digest:
    """Return a digest of a record: key, value, headers, and optionally the timestamp."""
    made = hashlib.blake2b(digest_size=16)
    for part in (record.key, record.value, *(each for pair in record.headers for each in pair)):
        made.update(b"-" if part is None else b"%d:" % len(part))
        made.update(part or b"")
    if with_time:
        made.update(b"@%d" % record.timestamp)
    return made.digest()


def find_seam(
    mirror: Sequence[Digest], source: Sequence[tuple[SourceOffset, Digest]]
) -> Seam | None:
    """Return the end of the mirror topic as a source offset, `None` if uncertain.

    The place is certain if the last record of the mirror topic is at one place of the source only,
    or if more of the records before it are the same at one place than at any other.

    Args:
        mirror: The last records of the mirror topic, in order.
        source: Records of the source around the position that is known, in order.
    """
    if not mirror:
        return None
    last = mirror[-1]
    places = [at for at, (_, each) in enumerate(source) if each == last]
    rated = sorted(((_alike(mirror, source, at), at) for at in places), reverse=True)
    if not rated or (len(rated) > 1 and rated[0][0] == rated[1][0]):
        return None
    compared, at = rated[0]
    return Seam(SourceOffset(source[at][0] + 1), compared)


def _alike(mirror: Sequence[Digest], source: Sequence[tuple[SourceOffset, Digest]], at: int) -> int:
    """Return how many records up to a place are the same on both sides."""
    most = min(len(mirror), at + 1)
    for number in range(most):
        if source[at - number][1] != mirror[-1 - number]:
            return number
    return most
