"""Encoding and decoding of the ledger's entries: JSON keys and values.

Each entry is one record of the compacted topic `__towpath_ledger`. Key: a JSON array, first the
kind, then the link, then what the entry is about. Value: a JSON object with `v`, the major
version of the format, and the fields of the class below under their own names. Every entry is a
fact that stays true whoever wrote it, so two writers cannot harm each other: of two receipts the
one that is further holds.

A field that is added later gets a default in its class, which stands for it in older entries. A
reader passes over fields and kinds that it does not know. A newer major version stops only the
readers of the link that it is about. docs/ledger.md tells the same to people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic import TypeAdapter

from towpath.ledger.entries import reason_fields
from towpath.ledger.entries.changes import DefinedChange
from towpath.ledger.entries.foretold import Foretold
from towpath.ledger.entries.gateways import GatewayCall, GatewayReply, RelayedId
from towpath.ledger.entries.groups import SeenGroup
from towpath.ledger.entries.ids import AwaitedIds, DecidedIds, RefusedIds
from towpath.ledger.entries.link import Created, EndOffsets, FirstLook, LinkIdentity, Replayer
from towpath.ledger.entries.operator import Pause, Restarted, SetRate
from towpath.ledger.entries.pace import Paced, Share
from towpath.ledger.entries.partition import (
    Cut,
    Gap,
    Opened,
    Receipt,
    RefusedRecords,
    Repaired,
    Runs,
    TransactionalProducer,
)
from towpath.ledger.entries.promotion import GatewaySign, Promoted, Promotion
from towpath.ledger.entries.salvage import Salvaged
from towpath.ledger.entries.session import Attempt, Dealt, LinkLease, Released, Session
from towpath.ledger.entries.state import LinkState
from towpath.ledger.entries.step import Journal
from towpath.ledger.entries.twin import Twinned
from towpath.model.errors import LedgerError, NewerLedgerError
from towpath.model.foreign import foreign
from towpath.model.nouns import LEDGER, LinkName, TopicName, TopicPartition

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Removed:
    """The removal of a ledger entry; `key` is the part of its key after kind and link."""

    kind: str
    link: LinkName
    key: tuple[str | int, ...]

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return self.key


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A ledger entry that this version cannot read; commands of its link raise `error`."""

    link: LinkName
    error: LedgerError


Written = (
    LinkIdentity
    | FirstLook
    | EndOffsets
    | Opened
    | Receipt
    | Runs
    | Gap
    | RefusedRecords
    | TransactionalProducer
    | Repaired
    | Cut
    | Journal
    | Session
    | LinkLease
    | Dealt
    | Attempt
    | Released
    | Pause
    | Restarted
    | SetRate
    | Foretold
    | Share
    | Paced
    | SeenGroup
    | DefinedChange
    | Replayer
    | DecidedIds
    | AwaitedIds
    | RefusedIds
    | LinkState
    | Salvaged
    | Twinned
    | GatewaySign
    | Promotion
    | Promoted
    | Created
    | GatewayCall
    | GatewayReply
    | RelayedId
)
Entry = Written | Removed
"""An entry that can be written."""
ReadEntry = Entry | Unreadable
"""An entry that was read."""

_KINDS: Mapping[str, type[Written]] = {each.kind: each for each in get_args(Written)}
_FIELDS = {kind: tuple(each.name for each in fields(cls)) for kind, cls in _KINDS.items()}
_json = json.JSONEncoder(separators=(",", ":"), default=asdict).encode


def encode(entry: Entry) -> tuple[bytes, bytes | None]:
    """Return key and value of the record that holds an entry."""
    key = _json([entry.kind, entry.link, *entry.about()]).encode()
    if isinstance(entry, Removed):
        return key, None
    body = {name: getattr(entry, name) for name in _FIELDS[entry.kind]}
    return key, _json({"v": FORMAT, **body, **reason_fields.written(entry, entry.kind)}).encode()


class EntryKey(NamedTuple):
    """The key of a ledger entry: kind, link, and the thing it is about."""

    kind: str
    link: LinkName
    about: tuple[str | int, ...]

    @property
    def partition(self) -> TopicPartition | None:
        """The source partition that the entry is about, `None` if it is about none."""
        match self.about:
            case (topic, int(partition), *_):
                return TopicPartition(TopicName(str(topic)), partition)
            case _:
                return None


def decode_key(key: bytes) -> EntryKey:
    """Decode the ledger key in a record's key bytes.

    Raises:
        LedgerError: The key is not a ledger key.
    """
    try:
        kind, link, *about = json.loads(key)
    except (ValueError, TypeError) as error:
        raise _foreign(key, error) from error
    return EntryKey(kind, link, tuple(about))


def decode(key: bytes | None, value: bytes | None) -> ReadEntry | None:
    """Decode the entry in a record; `None` for a kind of a later minor version.

    Raises:
        LedgerError: The key is not a ledger key.
    """
    if key is None:
        return None
    kind, link, about = decode_key(key)
    if value is None:
        return Removed(kind, link, about)
    try:
        return _entry(kind, json.loads(value))
    except LedgerError as error:
        return Unreadable(link, error)
    except (ValueError, KeyError, TypeError) as error:
        return Unreadable(link, _foreign(key, error))


def _foreign(key: bytes, error: Exception) -> LedgerError:
    return LedgerError(
        f"a record of the ledger is no entry of it (key {key[:100]!r}: {foreign(error)}); someone"
        f" else writes to {LEDGER}: stop that writer, then delete the record by its key"
    )


def _entry(kind: str, body: Mapping[str, Any]) -> Entry | None:
    if body["v"] > FORMAT:
        raise NewerLedgerError(body["v"], FORMAT)
    if kind not in _KINDS:
        return None
    return _adapter(kind).validate_python({**body, **reason_fields.read(body, kind)})


@cache
def _adapter(kind: str) -> TypeAdapter[Written]:
    return TypeAdapter(_KINDS[kind])
