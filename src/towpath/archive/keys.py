"""Keys of an archive's objects, relative to the store's prefix.

    [spread/]region/topic/partition/level/<start>-<last>.parquet   the object of one segment
    [spread/]region/_shared/topic/level/<hash>-<uuid>.parquet      an object of several segments
    region/_iceberg/topic/<hash>.parquet                           a copy of some row groups
    region/_log/<version>.json                                     an entry of the commit log
    region/_log/leases/<work>.json                                 who does a kind of work now
    region/_log/outcomes/<work>.json                               how a kind of work ended last
    region/_log/events/<time>-<name>.json                          what happened to the archive
    region/_log/schemas/<part>-<sha256>.json.gz                    some subjects of a registry

Offsets and versions have 20 digits. The last offset in a key is inclusive, everywhere else ranges
are half-open. The spread, if there is one, is four hex digits: stores that limit requests by prefix
then spread an archive over their servers.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import NamedTuple
from urllib.parse import quote, unquote
from uuid import uuid4

from towpath.model.nouns import SegmentFormat, SourceOffset, TopicName

_RESERVED = frozenset({"_iceberg", "_log", "_shared", ".", ".."})
_DATA = (
    r"(?:([^/]+)/\d+/(\d+)/\d{20}-\d{20}(?:\.[0-9a-f]+)?"
    r"|_shared/([^/]+)/(\d+)/[0-9a-f]{8}-[0-9a-f-]{36})\.(?:parquet|batches)"
)
_PLAIN = "._-"
"""What `quote` must leave alone besides letters and digits; it never quotes `~`."""


class DataKey(NamedTuple):
    """The topic and the level in the key of an object with segments."""

    topic: TopicName
    level: int


def segment_key(
    region: str,
    topic: TopicName,
    partition: int,
    level: int,
    start: SourceOffset,
    end: SourceOffset,
    *,
    suffix: SegmentFormat = SegmentFormat.PARQUET,
    attempt: str = "",
    spread: bool = False,
) -> str:
    """Return the key of the object of one segment with the range [start, end).

    Args:
        region: The region that archives.
        topic: The topic.
        partition: Number of the partition.
        level: The level of the segment.
        start: First offset of the range.
        end: End of the range, exclusive.
        suffix: The format.
        attempt: Letters and digits that make another key for the same range, as those of `unique`.
            Needed where an object has the plain key, or had it: a writer died before its commit,
            the topic was made again, or segments are merged.
        spread: Whether the key begins with a hash.
    """
    last = f"{end - 1:020d}.{attempt}" if attempt else f"{end - 1:020d}"
    name = f"{start:020d}-{last}.{suffix}"
    key = f"{quoted(region)}/{quoted(topic)}/{partition}/{level}/{name}"
    return f"{_spread(f'{topic}/{partition}')}/{key}" if spread else key


def unique() -> str:
    """Return a random text that makes an object key unique."""
    return secrets.token_hex(4)


def shared_key(region: str, topic: TopicName, level: int, *, spread: bool = False) -> str:
    """Return a new key for an object of several segments of one topic."""
    own = uuid4()
    name = f"{_hash(own.hex, 8)}-{own}.{SegmentFormat.PARQUET}"
    key = f"{quoted(region)}/_shared/{quoted(topic)}/{level}/{name}"
    return f"{_spread(own.hex)}/{key}" if spread else key


def data_key(region: str, key: str) -> DataKey | None:
    """Parse the key of an object with segments of a region; return `None` for other keys."""
    begin = rf"(?:[0-9a-f]{{4}}/)?{re.escape(quoted(region))}/"
    found = re.fullmatch(begin + _DATA, key)
    if found is None:
        return None
    own, own_level, shared, shared_level = found.groups()
    return DataKey(TopicName(unquote(own or shared)), int(own_level or shared_level))


def data_prefix(region: str, *, spread: bool) -> str:
    """Return the key prefix of all objects with segments; "" if their keys begin with a hash."""
    return "" if spread else f"{quoted(region)}/"


def is_shared(key: str) -> bool:
    """Return whether the key belongs to an object that may hold several segments."""
    return "/_shared/" in key


def registered_prefix(region: str, topic: TopicName) -> str:
    """Return the key prefix of the objects that exist only for the Iceberg table of a topic."""
    return f"{quoted(region)}/_iceberg/{quoted(topic)}/"


def registered_key(region: str, topic: TopicName, parts: str) -> str:
    """Return the key of a copy of row groups for an Iceberg table.

    Args:
        region: The region.
        topic: The topic.
        parts: What names the object and the row groups that are copied.
    """
    return f"{registered_prefix(region, topic)}{_hash(parts, 16)}.parquet"


def entry_key(region: str, version: int) -> str:
    """Return the key of an entry of the commit log."""
    return f"{log_prefix(region)}{version:020d}.json"


def checkpoint_key(region: str, version: int) -> str:
    """Return the key of the checkpoint of one version of the commit log."""
    return f"{checkpoint_prefix(region)}{version:020d}.parquet"


def readers_prefix(region: str) -> str:
    """Return the key prefix of the heartbeats of all readers."""
    return f"{log_prefix(region)}readers/"


def checkpoint_prefix(region: str) -> str:
    """Return the key prefix of all checkpoints."""
    return f"{log_prefix(region)}checkpoints/"


def lease_key(region: str, work: str) -> str:
    """Return the key of the lease for one kind of work."""
    return f"{log_prefix(region)}leases/{work}.json"


def outcome_key(region: str, work: str) -> str:
    """Return the key of the recorded outcome of one kind of work."""
    return f"{log_prefix(region)}outcomes/{work}.json"


def events_prefix(region: str) -> str:
    """Return the key prefix of all events."""
    return f"{log_prefix(region)}events/"


def event_key(region: str, at: int, name: str) -> str:
    """Return the key of an event at a time in ms; keys sort by time."""
    return f"{events_prefix(region)}{at:020d}-{name}.json"


def schemas_prefix(region: str) -> str:
    """Return the key prefix of all objects with schemas."""
    return f"{log_prefix(region)}schemas/"


def schemas_key(region: str, part: str, digest: str) -> str:
    """Return the key of an object with schemas.

    Args:
        region: The region.
        part: Which subjects are in it.
        digest: The SHA-256 of the object in hex digits.
    """
    return f"{schemas_prefix(region)}{part}-{digest}.json.gz"


def log_prefix(region: str) -> str:
    """Return the key prefix of the commit log."""
    return f"{quoted(region)}/_log/"


def quoted(name: str) -> str:
    """Return a name escaped as one part of a key; only characters legal in topic names stay."""
    if name in _RESERVED:  # legal names of topics, except the dots
        return "".join(f"%{each:02X}" for each in name[:1].encode()) + name[1:]
    return quote(name, safe=_PLAIN).replace("~", "%7E")


def _spread(text: str) -> str:
    return _hash(text, 4)


def _hash(text: str, digits: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()[:digits]
