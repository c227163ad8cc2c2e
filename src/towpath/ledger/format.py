"""The bytes of entries: JSON keys, and JSON values with the version of the format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, NamedTuple, get_args

from towpath.ledger.entries import Entry, Found, Phase, Removed, Unreadable, Written
from towpath.model.errors import LedgerError, NewerLedgerError
from towpath.model.foreign import foreign
from towpath.model.nouns import LEDGER, LinkName, Mode

FORMAT = 1

_KINDS: Mapping[str, type[Written]] = {each.kind: each for each in get_args(Written)}


def encode(entry: Entry) -> tuple[bytes, bytes | None]:
    """Return key and value of an entry."""
    key = json.dumps([entry.kind, entry.link, *entry.about()], separators=(",", ":")).encode()
    if isinstance(entry, Removed):
        return key, None
    return key, json.dumps({"v": FORMAT, **asdict(entry)}, separators=(",", ":")).encode()


class Key(NamedTuple):
    """The key of an entry: kind, link, and what it is about."""

    kind: str
    link: LinkName
    about: tuple[str | int, ...]


def decode_key(key: bytes) -> Key:
    """Return the key of a record.

    Raises:
        LedgerError: The key is none of the ledger's.
    """
    try:
        kind, link, *about = json.loads(key)
    except (ValueError, TypeError) as error:
        raise _foreign(key, error) from error
    return Key(kind, link, tuple(about))


def decode(key: bytes | None, value: bytes | None) -> Found | None:
    """Return the entry of a record, or `None` for a kind of a later minor version.

    Raises:
        LedgerError: The key is none of the ledger's.
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
    cls = _KINDS.get(kind)
    if cls is None:
        return None
    known = {
        field.name: _typed(field.name, body[field.name])
        for field in fields(cls)
        if field.name in body or field.default is field.default_factory is MISSING
    }
    return cls(**known)


def _typed(name: str, value: Any) -> Any:
    if name == "mode":
        return Mode(value)
    if name == "phase":
        return Phase(value)
    if name in {"run", "offsets", "epochs"}:
        return tuple(value)
    if name == "runs":
        return tuple(tuple(run) for run in value)
    return value
