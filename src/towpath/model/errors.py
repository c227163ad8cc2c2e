"""The errors that Towpath raises on purpose.

    TowpathError                    1  a fault in us
    ├── ConfigError                 2  the file or the arguments are wrong
    ├── ClusterError                4  a cluster could not be used
    │   ├── UnreachableError           nobody answered
    │   └── RefusedError               a broker answered with an error code
    ├── SparkStartError             4  Spark did not start
    ├── SparkUnencryptedError       4  Spark would send credentials unencrypted
    ├── SparkLostError              1  Spark's JVM ended
    ├── RepeatedError               1  Spark has begun a slice again
    ├── LedgerError                 4  the ledger cannot be used
    │   ├── NewerLedgerError           it was written by a newer Towpath
    │   ├── NewerLinkError             the link needs a newer Towpath
    │   └── LinkBusyError              the link runs elsewhere
    ├── CorruptBatchError           1  bytes that are no record batch
    ├── TargetLostError             3  the target lost what it had acknowledged
    ├── DoubledError                3  the target holds records twice
    ├── TargetReplacedError         3  the mirror topic is another topic now
    ├── NotIdenticalError           3  offsets cannot stay the same where that was demanded
    ├── StepHeldBackError           3  a step that must come first could not be done
    ├── StepOutdatedError           3  a cluster is no longer as it was when a step was planned
    └── StoppedError                3  Ctrl-C or SIGTERM came before the end

Others stand beside what raises them: two kinds of UnreachableError, SecurityError in
`cluster/connect/login.py` and UnresolvedError in `cluster/connect/connection.py`; DevError (2) and
its kinds in `dev/errors.py`.

The number is the exit code; the stable `code` of each class stands in what `--output json` says.
Every constructor hands all of its positional arguments to `Exception`, else an instance could not
be unpickled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.reasons import Reason, ReasonCode


class TowpathError(Exception):
    """Base class; `str()` of an instance is a sentence for the person who must act."""

    code: ClassVar[str] = "TOWPATH"
    exit_code: ClassVar[int] = 1

    @property
    def reason(self) -> Reason:
        """The error as a value, for whatever it keeps from moving."""
        return Reason.of(ReasonCode.ERROR, error=self.code, text=str(self))


@dataclass(frozen=True, slots=True, order=True)
class ConfigProblem:
    """A problem in the YAML file or the arguments: its YAML path or option, and a sentence."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class ConfigError(TowpathError):
    """The file or the arguments are wrong; holds all problems at once."""

    code = "CONFIG"
    exit_code = 2

    def __init__(self, problems: tuple[ConfigProblem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class ClusterError(TowpathError):
    """A cluster could not be reached, or refused what was asked."""

    code = "CLUSTER"
    exit_code = 4


class UnreachableError(ClusterError):
    """No broker answered: `side`, what was tried, why not, what to do."""

    code = "CLUSTER_UNREACHABLE"

    def __init__(self, side: str, what: str, why: str, advice: str = "") -> None:
        super().__init__(side, what, why, advice)
        self.side, self.what, self.why, self.advice = side, what, why, advice

    @property
    def reason(self) -> Reason:
        """The error as a value."""
        side, what, why, advice = str(self.side), self.what, self.why, self.advice
        return Reason.of(ReasonCode(self.code), side=side, what=what, why=why, advice=advice)

    def __str__(self) -> str:
        return str(self.reason)


class RefusedError(ClusterError):
    """A broker answered with an error code.

    Args:
        side: `source` or `target`.
        what: What was being done, with its values.
        error: Number of the Kafka error code.
        name: Its name in the protocol, such as `TOPIC_AUTHORIZATION_FAILED`.
        advice: What to do about it.
        retriable: Whether the same request may succeed later.
    """

    code = "CLUSTER_REFUSED"

    def __init__(
        self,
        side: str,
        what: str,
        error: int,
        name: str,
        advice: str = "",
        *,
        retriable: bool = False,
    ) -> None:
        super().__init__(side, what, error, name, advice)
        self.side, self.what, self.error, self.name = side, what, error, name
        self.advice, self.retriable = advice, retriable

    @property
    def forbidden(self) -> bool:
        """Whether the login lacks a right."""
        return "AUTHORIZATION" in self.name

    @property
    def reason(self) -> Reason:
        """The error as a value."""
        return Reason.of(
            ReasonCode.CLUSTER_REFUSED,
            side=str(self.side),
            what=self.what,
            error=self.error,
            name=self.name,
            advice=self.advice,
        )

    def __str__(self) -> str:
        return str(self.reason)


class SparkStartError(TowpathError):
    """Spark did not start, or no Spark cluster took us; `why` is what it printed of errors."""

    code = "SPARK_START"
    exit_code = 4

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return (
            f"Spark did not start: {self.why}; check `--master` and that cluster, Java"
            " (`java -version`), and Spark's own settings"
        )


class SparkUnencryptedError(TowpathError):
    """Spark would send credentials of the file to `master` unencrypted; `settings` prevent it."""

    code = "SPARK_UNENCRYPTED"
    exit_code = 4

    def __init__(self, master: str, settings: tuple[str, ...]) -> None:
        super().__init__(master, settings)
        self.master, self.settings = master, settings

    def __str__(self) -> str:
        lines = " and ".join(f"`{each}`" for each in self.settings)
        return (
            f"the file holds credentials, and Spark at {self.master} would not keep them encrypted;"
            f" set {lines} in spark-defaults.conf, also for the daemons of that cluster"
            " (docs/security.md)"
        )


class SparkLostError(TowpathError):
    """Spark's JVM ended while it was needed."""

    code = "SPARK_LOST"

    def __str__(self) -> str:
        return (
            "Spark's JVM ended all at once (killed, or out of memory: look into the system's log);"
            " run the command again, it goes on where this one stood"
        )


class RepeatedError(TowpathError):
    """Spark has begun a slice again, so that the earlier attempt at it ends."""

    code = "SLICE_REPEATED"

    def __str__(self) -> str:
        return "Spark has begun this slice again in another task, so this task has ended"


class LedgerError(TowpathError):
    """The ledger cannot be read or written, or its content is invalid."""

    code = "LEDGER"
    exit_code = 4


class NewerLedgerError(LedgerError):
    """The ledger holds entries of a newer major version than this program knows."""

    code = "LEDGER_NEWER"

    def __init__(self, found: int, known: int) -> None:
        super().__init__(found, known)
        self.found, self.known = found, known

    def __str__(self) -> str:
        return (
            f"the ledger on the target was written in format {self.found}, this program knows up to"
            f" {self.known}; use the Towpath that wrote it, or a newer one"
        )


class NewerLinkError(LedgerError):
    """A newer version works on a link in a way that this program does not know.

    Args:
        link: The link.
        version: The version that raised its feature level; empty if unknown.
        level: The feature level that the link needs.
        known: The highest feature level that this program knows.
    """

    code = "LINK_NEWER"

    def __init__(self, link: str, version: str, level: int, known: int) -> None:
        super().__init__(link, version, level, known)
        self.link, self.version, self.level, self.known = link, version, level, known

    def __str__(self) -> str:
        needed = f"Towpath {self.version}" if self.version else "the Towpath that wrote it"
        return (
            f"link {self.link} was last used by {needed} and needs feature level {self.level} of"
            f" the ledger; this program knows up to {self.known}; use {needed} or newer for this"
            " link"
        )


class LinkBusyError(LedgerError):
    """The link is already running elsewhere."""

    code = "LINK_BUSY"

    def __init__(self, link: str, where: str) -> None:
        super().__init__(link, where)
        self.link, self.where = link, where

    def __str__(self) -> str:
        return (
            f"link {self.link} is already running ({self.where}); stop that run first,"
            " or give this one another `link` name"
        )


class LinkHeldError(LedgerError):
    """Another process holds the lease of the link: its command, and where it runs."""

    code = "LINK_HELD"

    def __init__(self, link: str, command: str, where: str) -> None:
        super().__init__(link, command, where)
        self.link, self.command, self.where = link, command, where

    def __str__(self) -> str:
        known = (
            "; it does by itself what the file asks for, so stop it first to apply a saved plan"
            if self.command == "run"
            else "; wait until it has ended, or stop it, then try again"
        )
        return (
            f"`towpath {self.command}` changes the target for link {self.link} now"
            f" ({self.where}){known}"
        )


class CorruptBatchError(TowpathError):
    """Bytes are not valid record batches; those before `at` may be valid."""

    code = "CORRUPT_BATCH"

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why, at)
        self.why, self.at = why, at

    def __str__(self) -> str:
        return f"corrupt record batch: {self.why}"


class TargetLostError(TowpathError):
    """The target holds less of a partition than it acknowledged.

    Args:
        partition: The target partition.
        acknowledged: The end of what was acknowledged: an offset, or a sequence.
        found: The end of what the target holds.
        unit: `offset` or `sequence`; sequences count the records since the partition was opened.
    """

    code = "TARGET_LOST"
    exit_code = 3

    def __init__(
        self, partition: str, acknowledged: int, found: int, unit: str = "sequence"
    ) -> None:
        super().__init__(partition, acknowledged, found, unit)
        self.partition, self.acknowledged, self.found = partition, acknowledged, found
        self.unit = unit

    @property
    def reason(self) -> Reason:
        """The error as a value."""
        return Reason.of(
            ReasonCode.TARGET_LOST,
            partition=self.partition,
            acknowledged=self.acknowledged,
            found=self.found,
            unit=self.unit,
        )

    def __str__(self) -> str:
        return str(self.reason)


class DoubledError(TowpathError):
    """The target holds records of a partition twice.

    Args:
        partition: The target partition.
        first: The first target offset of the second copy.
        end: The target offset behind its last record.
        records: How many records were written twice.
    """

    code = "DOUBLED"
    exit_code = 3

    def __init__(self, partition: str, first: int, end: int, records: int) -> None:
        super().__init__(partition, first, end, records)
        self.partition, self.first, self.end, self.records = partition, first, end, records

    @property
    def reason(self) -> Reason:
        """The error as a value."""
        partition, first, end, records = self.partition, self.first, self.end, self.records
        return Reason.of(
            ReasonCode.DOUBLED, partition=partition, first=first, end=end, records=records
        )

    def __str__(self) -> str:
        return str(self.reason)


class TargetReplacedError(TowpathError):
    """The mirror topic was deleted and created again while it was written."""

    code = "TARGET_REPLACED"
    exit_code = 3

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic

    @property
    def reason(self) -> Reason:
        """The error as a value."""
        return Reason.of(ReasonCode.TARGET_REPLACED, topic=self.topic)

    def __str__(self) -> str:
        return str(self.reason)


class NotIdenticalError(TowpathError):
    """`records.offsets: identical` was asked for, and `why` keeps `partition` from it."""

    code = "NOT_IDENTICAL"
    exit_code = 3

    def __init__(self, partition: str, why: Reason) -> None:
        super().__init__(partition, why)
        self.partition, self.why = partition, why

    @property
    def reason(self) -> Reason:
        """The error as a value."""
        return Reason.of(ReasonCode.NOT_IDENTICAL, why=self.why)

    def __str__(self) -> str:
        return f"{self.partition}: {self.reason}"


class StepOutdatedError(TowpathError):
    """The precondition of a step does not hold: what was expected of a thing, and what is there.

    Args:
        thing: What is meant.
        expected: What it should have.
        found: What it has.
        side: `target`, or `source` where a step depends on what is not there.
    """

    code = "STEP_OUTDATED"
    exit_code = 3

    def __init__(self, thing: str, expected: str, found: str, side: str = "target") -> None:
        super().__init__(thing, expected, found, side)
        self.thing, self.expected, self.found, self.side = thing, expected, found, side

    def __str__(self) -> str:
        return (
            f"{self.side}: {self.thing} changed since this was planned: it should have"
            f" {self.expected} and has {self.found}; look who else changes it, then plan again"
        )


class StoppedError(TowpathError):
    """The user asked to stop before the work was complete."""

    code = "STOPPED"
    exit_code = 3

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"stopped: {self.what}"


class StepHeldBackError(TowpathError):
    """An ACL that must be changed before another one could not be: `first`, and what was tried."""

    code = "STEP_HELD_BACK"
    exit_code = 3

    def __init__(self, first: str, tried: str) -> None:
        super().__init__(first, tried)
        self.first, self.tried = first, tried

    def __str__(self) -> str:
        return (
            f"target: this would allow too much, as another ACL ({self.first}) could not be"
            f" {self.tried} before; mend what keeps that one back, then apply again"
        )
