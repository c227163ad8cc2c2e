"""The entries of the ledger: `link`, `partition`, `step`, `session`; `coding` is their format."""

from towpath.ledger.entries.coding import (
    Entry,
    EntryKey,
    ReadEntry,
    Removed,
    Unreadable,
    decode,
    decode_key,
    encode,
)
from towpath.ledger.entries.link import LEVEL, EndOffsets, FirstLook, LinkIdentity
from towpath.ledger.entries.partition import (
    Gap,
    Opened,
    Receipt,
    Repaired,
    Run,
    Runs,
    TransactionalProducer,
)
from towpath.ledger.entries.session import (
    MIRROR,
    Attempt,
    Dealt,
    LeaseHolder,
    LinkLease,
    MissingEvents,
    Released,
    Session,
)
from towpath.ledger.entries.step import Journal, Phase

__all__ = [
    "LEVEL",
    "MIRROR",
    "Attempt",
    "Dealt",
    "EndOffsets",
    "Entry",
    "EntryKey",
    "FirstLook",
    "Gap",
    "Journal",
    "LeaseHolder",
    "LinkIdentity",
    "LinkLease",
    "MissingEvents",
    "Opened",
    "Phase",
    "ReadEntry",
    "Receipt",
    "Released",
    "Removed",
    "Repaired",
    "Run",
    "Runs",
    "Session",
    "TransactionalProducer",
    "Unreadable",
    "decode",
    "decode_key",
    "encode",
]
