"""The kinds of ledger entries, one module for each subject.

Besides, there is `operator`. `coding` is their format.
"""

from towpath.ledger.entries.changes import DefinedChange
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
from towpath.ledger.entries.foretold import Foretold
from towpath.ledger.entries.groups import SeenGroup, SeenPosition
from towpath.ledger.entries.ids import AwaitedIds, DecidedIds, RefusedIds
from towpath.ledger.entries.link import (
    CHANGES_LEVEL,
    LEVEL,
    STATES_LEVEL,
    TWIN_LEVEL,
    UNCHANGED_LEVEL,
    EndOffsets,
    FirstLook,
    LinkIdentity,
    Replayer,
)
from towpath.ledger.entries.operator import WHOLE_LINK, Pause, Restarted, SetRate
from towpath.ledger.entries.pace import Paced, Share, Used
from towpath.ledger.entries.partition import (
    FROM_ARCHIVE,
    FROM_TWIN,
    ChangedAt,
    Counted,
    Cut,
    Gap,
    Opened,
    Receipt,
    RefusedRecords,
    Repaired,
    Run,
    Runs,
    Stretch,
    Tally,
    TransactionalProducer,
)
from towpath.ledger.entries.promotion import (
    GatewaySign,
    LastBatch,
    Promoted,
    PromotedPartition,
    PromotedTopic,
    Promotion,
    PromotionStage,
)
from towpath.ledger.entries.salvage import Salvaged
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
from towpath.ledger.entries.state import CLOSED, STAGES, LinkStage, LinkState
from towpath.ledger.entries.step import Journal, Phase
from towpath.ledger.entries.twin import Twinned

__all__ = [
    "CHANGES_LEVEL",
    "CLOSED",
    "FROM_ARCHIVE",
    "FROM_TWIN",
    "LEVEL",
    "MIRROR",
    "STAGES",
    "STATES_LEVEL",
    "TWIN_LEVEL",
    "UNCHANGED_LEVEL",
    "WHOLE_LINK",
    "Attempt",
    "AwaitedIds",
    "ChangedAt",
    "Counted",
    "Cut",
    "Dealt",
    "DecidedIds",
    "DefinedChange",
    "EndOffsets",
    "Entry",
    "EntryKey",
    "FirstLook",
    "Foretold",
    "Gap",
    "GatewaySign",
    "Journal",
    "LastBatch",
    "LeaseHolder",
    "LinkIdentity",
    "LinkLease",
    "LinkStage",
    "LinkState",
    "MissingEvents",
    "Opened",
    "Paced",
    "Pause",
    "Phase",
    "Promoted",
    "PromotedPartition",
    "PromotedTopic",
    "Promotion",
    "PromotionStage",
    "ReadEntry",
    "Receipt",
    "RefusedIds",
    "RefusedRecords",
    "Released",
    "Removed",
    "Repaired",
    "Replayer",
    "Restarted",
    "Run",
    "Runs",
    "Salvaged",
    "SeenGroup",
    "SeenPosition",
    "Session",
    "SetRate",
    "Share",
    "Stretch",
    "Tally",
    "TransactionalProducer",
    "Twinned",
    "Unreadable",
    "Used",
    "decode",
    "decode_key",
    "encode",
]
