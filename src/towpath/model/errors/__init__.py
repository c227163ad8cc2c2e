"""The errors that Towpath raises on purpose.

    TowpathError                    1  a fault in us
    ├── ConfigError                 2  the file or the arguments are wrong
    ├── ClusterError                4  a cluster could not be used
    │   ├── UnreachableError           nobody answered
    │   ├── RefusedError               a broker answered with an error code
    │   ├── RegistryRefusedError       a schema registry answered with an error
    │   ├── ClusterReplacedError       an address leads to another cluster than before
    │   ├── NotSetAsideError           the quarantine topic did not take a record
    │   └── TaskFailedError            a task ended with an error of ours, whose code it has
    ├── ExtraMissingError           2  a library of an extra is not installed
    ├── JavaError                   2  no Java, or one that is too old
    ├── SparkStartError             4  Spark did not start
    ├── SparkUnencryptedError       4  Spark would send credentials unencrypted
    ├── SparkLostError              1  Spark's JVM ended
    ├── WorkersError                4  the workers of a Spark cluster cannot run slices
    ├── PackError                   2  the environment cannot be packed for them
    ├── RepeatedError               1  Spark has begun a slice again
    ├── LedgerError                 4  the ledger cannot be used
    │   ├── LedgerGoneError            it was deleted while it was in use
    │   ├── NewerLedgerError           it was written by a newer Towpath
    │   ├── NewerLinkError             the link needs a newer Towpath
    │   ├── NewerStateError            the link is in a state that a newer Towpath knows
    │   ├── LinkUnknownError           the ledger does not know the link
    │   ├── LinkSealedError            the link is sealed or failed over: nothing is copied
    │   ├── LinkBusyError              the link runs elsewhere
    │   └── LinkHeldError              another process changes the target for the link
    ├── QueryError                  2  a query in SQL is wrong
    ├── StoreError                  4  an object store could not be used
    │   ├── ObjectMissingError         there is no such object
    │   ├── ObjectExistsError          there is one, and only a new one may be written
    │   ├── ObjectChangedError         it is another one than was expected
    │   ├── ObjectColdError            it must be thawed before it can be read
    │   ├── StoreRefusedError          the store refused
    │   ├── StoreFullError             it has no room left
    │   └── StoreAwayError             it gave no usable answer in time
    │       └── StoreLockedError       another process keeps the lock of a folder
    ├── CorruptBatchError           1  bytes that are no record batch
    ├── TargetLostError             3  the target lost what it had acknowledged
    ├── DoubledError                3  the target holds records twice
    ├── TargetReplacedError         3  the mirror topic is another topic now
    ├── NotIdenticalError           3  offsets cannot stay the same where that was demanded
    ├── TwinIdsError                3  the twin of a link could not tell its records apart
    ├── UnknownIdsError             3  records name schemas that are not known on the target
    ├── SchemaNotKeptError          3  a schema registry holds something else than it accepted
    ├── SchemaHeldBackError         3  a schema that another one refers to is not there
    ├── StepHeldBackError           3  a step that must come first could not be done
    ├── StepOutdatedError           3  a cluster is no longer as it was when a step was planned
    └── StoppedError                3  Ctrl-C or SIGTERM came before the end

Others stand beside what raises them: three kinds of UnreachableError, SecurityError in
`cluster/connect/login.py`, UnresolvedError in `cluster/connect/connection.py` and ThrottledError in
`cluster/connect/throttling.py`; DevError (2) and its kinds in `dev/errors.py`; those of archives in
`archive/errors/`, and of migrations to KRaft in `kraft/errors/`.

The number is the exit code; the stable `code` of each class stands in what `--output json` says.
Every constructor hands all of its positional arguments to `Exception`, else an instance could not
be unpickled.
"""

from towpath.model.errors.base import (
    ConfigError,
    ConfigProblem,
    Spot,
    StoppedError,
    TowpathError,
)
from towpath.model.errors.cluster import (
    ClusterError,
    ClusterReplacedError,
    RefusedError,
    UnreachableError,
)
from towpath.model.errors.extra import ExtraMissingError
from towpath.model.errors.ledger import (
    LedgerError,
    LedgerGoneError,
    LinkBusyError,
    LinkHeldError,
    LinkSealedError,
    LinkUnknownError,
    NewerLedgerError,
    NewerLinkError,
    NewerStateError,
)
from towpath.model.errors.partition import (
    CorruptBatchError,
    DoubledError,
    NotIdenticalError,
    NotSetAsideError,
    TargetLostError,
    TargetReplacedError,
    TwinIdsError,
    UnknownIdsError,
)
from towpath.model.errors.query import QueryError
from towpath.model.errors.registry import (
    RegistryRefusedError,
    SchemaHeldBackError,
    SchemaNotKeptError,
)
from towpath.model.errors.spark import (
    JavaError,
    PackError,
    RepeatedError,
    SparkLostError,
    SparkStartError,
    SparkUnencryptedError,
    TaskFailedError,
    WorkersError,
)
from towpath.model.errors.step import StepHeldBackError, StepOutdatedError
from towpath.model.errors.store import (
    ObjectChangedError,
    ObjectColdError,
    ObjectExistsError,
    ObjectMissingError,
    StoreAwayError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreRefusedError,
)

__all__ = [
    "ClusterError",
    "ClusterReplacedError",
    "ConfigError",
    "ConfigProblem",
    "CorruptBatchError",
    "DoubledError",
    "ExtraMissingError",
    "JavaError",
    "LedgerError",
    "LedgerGoneError",
    "LinkBusyError",
    "LinkHeldError",
    "LinkSealedError",
    "LinkUnknownError",
    "NewerLedgerError",
    "NewerLinkError",
    "NewerStateError",
    "NotIdenticalError",
    "NotSetAsideError",
    "ObjectChangedError",
    "ObjectColdError",
    "ObjectExistsError",
    "ObjectMissingError",
    "PackError",
    "QueryError",
    "RefusedError",
    "RegistryRefusedError",
    "RepeatedError",
    "SchemaHeldBackError",
    "SchemaNotKeptError",
    "SparkLostError",
    "SparkStartError",
    "SparkUnencryptedError",
    "Spot",
    "StepHeldBackError",
    "StepOutdatedError",
    "StoppedError",
    "StoreAwayError",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "StoreRefusedError",
    "TargetLostError",
    "TargetReplacedError",
    "TaskFailedError",
    "TowpathError",
    "TwinIdsError",
    "UnknownIdsError",
    "UnreachableError",
    "WorkersError",
]
