"""The stages of a migration as types: each has its legal moves as methods, and no others.

A planner that would finalize a cluster with migrating brokers, go back from a finalized one, or
enter a migration again does not pass the type checker: `Final` and `Unknown` have no method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.kraft.facts.nouns import Stage


@dataclass(frozen=True, slots=True)
class InZooKeeper:
    """No controller of the migration leads or is asked: a broker decides."""

    stage: ClassVar[Stage] = Stage.ZOOKEEPER

    def provision(self) -> Provisioned:
        """Start controllers with the flag."""
        return Provisioned()

    def tidy(self) -> InZooKeeper:
        """Remove what a withdrawn migration left."""
        return self


@dataclass(frozen=True, slots=True)
class Provisioned:
    """Controllers wait for brokers; no broker knows them yet."""

    stage: ClassVar[Stage] = Stage.PROVISIONED

    def keep(self) -> Provisioned:
        """Repair a node, or wait: the stage stays."""
        return self

    def register(self) -> Registering:
        """Roll a broker to migration mode."""
        return Registering()

    def withdraw(self) -> InZooKeeper:
        """Stop the controllers before they have decided anything."""
        return InZooKeeper()


@dataclass(frozen=True, slots=True)
class Registering:
    """Some brokers are in migration mode; behind the last one the copy begins by itself."""

    stage: ClassVar[Stage] = Stage.REGISTERING

    def keep(self) -> Registering:
        """Repair a node, or wait: the stage stays."""
        return self

    def register(self) -> Registering:
        """Roll another broker to migration mode."""
        return self

    def copy(self) -> Copying:
        """Let the controllers copy ZooKeeper, all brokers being registered."""
        return Copying()

    def withdraw(self) -> InZooKeeper:
        """Stop the controllers before they have decided anything."""
        return InZooKeeper()


@dataclass(frozen=True, slots=True)
class Copying:
    """A controller has taken over and copies ZooKeeper into its log."""

    stage: ClassVar[Stage] = Stage.COPYING

    def settle(self) -> Hybrid:
        """Wait until both stores are written."""
        return Hybrid()

    def stop(self) -> Headless:
        """Stop the controllers: ZooKeeper still has everything."""
        return Headless()


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Controllers decide and write both stores; all brokers are in migration mode."""

    stage: ClassVar[Stage] = Stage.HYBRID

    def keep(self) -> Hybrid:
        """Repair a node, or wait: the stage stays."""
        return self

    def convert(self, left: int) -> Mixed | DualWrite:
        """Roll a broker to KRaft mode, `left` of them staying in migration mode behind it."""
        return Mixed() if left else DualWrite()

    def revert(self) -> Hybrid:
        """Roll a broker back whose restart in KRaft mode was cut off."""
        return self

    def stop(self) -> Headless:
        """Stop the controllers, both stores being equal."""
        return Headless()


@dataclass(frozen=True, slots=True)
class Mixed:
    """Some brokers are in KRaft mode, some in migration mode."""

    stage: ClassVar[Stage] = Stage.MIXED

    def keep(self) -> Mixed:
        """Repair a node, or wait: the stage stays."""
        return self

    def convert(self, left: int) -> Mixed | DualWrite:
        """Roll a broker to KRaft mode, `left` of them staying in migration mode behind it."""
        return self if left else DualWrite()

    def revert(self, left: int) -> Mixed | Hybrid:
        """Roll a broker back to migration mode, `left` of them staying in KRaft mode behind it."""
        return self if left else Hybrid()


@dataclass(frozen=True, slots=True)
class DualWrite:
    """All brokers are in KRaft mode, and ZooKeeper is still written: the way back is open."""

    stage: ClassVar[Stage] = Stage.DUAL_WRITE

    def keep(self) -> DualWrite:
        """Repair a node, or wait: the stage stays."""
        return self

    def finalize(self) -> Finalizing:
        """Restart the first controller without the flag: nothing leads back for sure from here."""
        return Finalizing()

    def revert(self, left: int) -> Mixed | Hybrid:
        """Roll a broker back to migration mode, `left` of them staying in KRaft mode behind it."""
        return Mixed() if left else Hybrid()


@dataclass(frozen=True, slots=True)
class Finalizing:
    """Some controllers run without the flag; an election of one of them finalizes for good."""

    stage: ClassVar[Stage] = Stage.FINALIZING

    def finalize(self) -> Final:
        """Restart another controller without the flag, the leader last."""
        return Final()

    def resume(self) -> DualWrite:
        """Restart controllers with the flag, while none without it was elected."""
        return DualWrite()


@dataclass(frozen=True, slots=True)
class Headless:
    """ZooKeeper names a KRaft controller, and no controller answers."""

    stage: ClassVar[Stage] = Stage.HEADLESS

    def start(self) -> Hybrid | Mixed | DualWrite | Copying:
        """Start the controllers again; the log says where they were."""
        return Hybrid()

    def guard(self) -> Headless:
        """Stop controllers that still run without a leader, or raise `/controller_epoch`."""
        return self

    def release(self) -> InZooKeeper:
        """Give the cluster back to the brokers, all of them reading ZooKeeper."""
        return InZooKeeper()


@dataclass(frozen=True, slots=True)
class Stranded:
    """Finalized while brokers were not in KRaft mode."""

    stage: ClassVar[Stage] = Stage.FINAL

    def rescue(self) -> Final:
        """Roll a broker to KRaft mode."""
        return Final()


@dataclass(frozen=True, slots=True)
class Final:
    """The migration is over. Nothing leads back, and nothing leads into another one."""

    stage: ClassVar[Stage] = Stage.FINAL


@dataclass(frozen=True, slots=True)
class Unknown:
    """The stage of an observation that fits no other; nothing is safe but to look closer."""

    stage: ClassVar[Stage] = Stage.UNKNOWN


KnownStage = (
    InZooKeeper
    | Provisioned
    | Registering
    | Copying
    | Hybrid
    | Mixed
    | DualWrite
    | Finalizing
    | Headless
    | Stranded
    | Final
)

StageType = KnownStage | Unknown
