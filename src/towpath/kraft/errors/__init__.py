"""The errors of migrations to KRaft.

    TowpathError
    ├── DriverError                 4  a node could not be reached, or refused
    ├── NodeEndedError              4  a node ended by itself
    ├── StepLateError               4  what a step waits for did not come in time
    ├── StepRefusedError            3  a step would have destroyed something
    ├── StepByHandError             3  a step must be done by hand, without an API from here
    ├── ZooKeeperError              4  ZooKeeper could not be used
    │   ├── ZooKeeperAwayError         no server answered in time
    │   ├── ZooKeeperDeniedError       the login was refused, or may not do what was asked
    │   ├── ZnodeUnknownError          a znode that decides is missing, or of no known form
    │   └── ZnodeChangedError          a znode is not the one that was seen
    ├── ZooKeeperHeldError          4  another process works on the cluster
    ├── ZooKeeperLockLostError      4  the lock of the cluster ended with our session
    ├── KraftJournalError           4  the journal cannot be used
    ├── JournalHeldError            4  another process on this machine works on the migration
    ├── KraftFileError              4  a file of a node has a form that is not understood
    ├── UnexpectedStageError        3  a step led elsewhere
    └── StoppedError                3  Ctrl-C or SIGTERM came before the end
        └── StepStoppedError           while a step waited

The number is the exit code; see `towpath.model.errors`.
"""

from towpath.kraft.errors.migration import (
    JournalHeldError,
    KraftFileError,
    KraftJournalError,
    UnexpectedStageError,
)
from towpath.kraft.errors.nodes import (
    DriverError,
    NodeEndedError,
    StepByHandError,
    StepLateError,
    StepRefusedError,
    StepStoppedError,
)
from towpath.kraft.errors.zookeeper import (
    ZnodeChangedError,
    ZnodeUnknownError,
    ZooKeeperAwayError,
    ZooKeeperDeniedError,
    ZooKeeperError,
    ZooKeeperHeldError,
    ZooKeeperLockLostError,
)

__all__ = [
    "DriverError",
    "JournalHeldError",
    "KraftFileError",
    "KraftJournalError",
    "NodeEndedError",
    "StepByHandError",
    "StepLateError",
    "StepRefusedError",
    "StepStoppedError",
    "UnexpectedStageError",
    "ZnodeChangedError",
    "ZnodeUnknownError",
    "ZooKeeperAwayError",
    "ZooKeeperDeniedError",
    "ZooKeeperError",
    "ZooKeeperHeldError",
    "ZooKeeperLockLostError",
]
