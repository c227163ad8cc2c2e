"""The entries of the ledger: `link`, `partition`, `groups`, `step`, `session`, `operator`.

`coding` is their format.
"""

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
from towpath.ledger.entries.groups import SeenGroup, SeenPosition
from towpath.ledger.entries.link import LEVEL, EndOffsets, FirstLook, LinkIdentity
from towpath.ledger.entries.operator import WHOLE_LINK, Pause, Restarted, SetRate
from towpath.ledger.entries.pace import Paced, Share, Used
from towpath.ledger.entries.partition import (
    Cut,
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
    "WHOLE_LINK",
    "Attempt",
    "Cut",
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
    "Paced",
    "Pause",
    "Phase",
    "ReadEntry",
    "Receipt",
    "Released",
    "Removed",
    "Repaired",
    "Restarted",
    "Run",
    "Runs",
    "SeenGroup",
    "SeenPosition",
    "Session",
    "SetRate",
    "Share",
    "TransactionalProducer",
    "Unreadable",
    "Used",
    "decode",
    "decode_key",
    "encode",
]
