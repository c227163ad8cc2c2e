"""The encoding of log entries: JSON objects with `v`, the major version of the format.

A field that is added later gets a default in its class, which stands for it in older entries. A
reader passes over fields that it does not know. A newer major version is refused.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from towpath.archive.errors import BrokenLogError, NewerArchiveError
from towpath.archive.log.checksums import ALGORITHM, BRING_BACK, SAYS, entry_is_summed, summed_entry
from towpath.archive.log.entries import LogEntry
from towpath.model.digest import Digest
from towpath.model.foreign import foreign

FORMAT = 2
"""The newest format: an entry that begins another history. All others say 1, which is the rest."""
_FIRST = 1


def encode(entry: LogEntry) -> bytes:
    """Encode a log entry as bytes."""
    told = _adapter().dump_python(entry, mode="json", exclude_defaults=True)
    for segment, written in zip(entry.add, told.get("add", ()), strict=True):
        written["digest"] = digest_for_json(segment.digest)
    begins_history = any(each.fork is not None for each in entry.partitions)
    version = FORMAT if begins_history else _FIRST
    told = {"v": version, SAYS: ALGORITHM, **told}
    return summed_entry(json.dumps(told, separators=(",", ":")).encode())


def decode(data: bytes, where: str) -> LogEntry:
    """Decode the bytes of a log entry.

    Args:
        data: What `encode` returned.
        where: The object, for messages.

    Raises:
        NewerArchiveError: It was written in a newer format.
        BrokenLogError: It is no entry, or not the one that was written.
    """
    entry_is_summed(data, where)
    try:
        told = json.loads(data)
        if told["v"] > FORMAT:
            version = str(told.get("writer", {}).get("towpath", ""))
            raise NewerArchiveError(where, version, told["v"], FORMAT)
        for written in told.get("add", ()):
            written["digest"] = digest_read(written["digest"])
        return _adapter().validate_python(told)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrokenLogError(
            where,
            f"it is no entry of a commit log ({foreign(error)[:300]}); {BRING_BACK}",
        ) from None


def digest_for_json(digest: Digest) -> list[int | str]:
    """Encode a digest for JSON; numbers beyond 2^53 are texts, as many programs round them."""
    return [digest.records, str(digest.unordered), str(digest.ordered)]


def digest_read(told: Any) -> Digest:
    """Decode a digest that `digest_for_json` encoded.

    Raises:
        ValueError: It is no digest.
    """
    records, unordered, ordered = told
    return Digest(int(records), int(unordered), int(ordered))


def hashed(data: bytes) -> str:
    """Return the SHA-256 of an entry's bytes, which the next entry refers to."""
    return hashlib.sha256(data).hexdigest()


@cache
def _adapter() -> TypeAdapter[LogEntry]:
    return TypeAdapter(LogEntry)
