"""The stages of a migration as types, whose methods are the only legal moves.

A planner that would finalize a cluster with migrating brokers, go back from a finalized one, or
enter a migration again does not pass the type checker: `Final` and `Unknown` have no method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.kraft.facts.nouns import Stage


@dataclass(frozen=True, slots=True)
class InZooKeeper:
    """The stage in which a broker is the controller, and no KRaft controller decides."""

    stage: ClassVar[Stage] = Stage.ZOOKEEPER

    def provision(self) -> Provisioned:
        """Start controllers with the migration's flag."""
        return Provisioned()

    def tidy(self) -> InZooKeeper:
        """Remove the remains of a withdrawn migration."""
        return self


@dataclass(frozen=True, slots=True)
class Provisioned:
    """The stage in which controllers wait for brokers, and no broker knows them yet."""

    stage: ClassVar[Stage] = Stage.PROVISIONED

    def keep(self) -> Provisioned:
        """Repair a node, or wait: the stage stays."""
        return self

    def register(self) -> Registering:
        """Restart a broker in migration mode."""
        return Registering()

    def withdraw(self) -> InZooKeeper:
        """Stop the controllers before they have decided anything."""
        return InZooKeeper()


@dataclass(frozen=True, slots=True)
class Registering:
    """The stage in which some brokers are in migration mode; the copy follows the last one."""

    stage: ClassVar[Stage] = Stage.REGISTERING

    def keep(self) -> Registering:
        """Repair a node, or wait: the stage stays."""
        return self

    def register(self) -> Registering:
        """Restart another broker in migration mode."""
        return self

    def copy(self) -> Copying:
        """Let the controllers copy ZooKeeper, as all brokers are registered."""
        return Copying()

    def withdraw(self) -> InZooKeeper:
        """Stop the controllers before they have decided anything."""
        return InZooKeeper()


@dataclass(frozen=True, slots=True)
class Copying:
    """The stage in which a controller has taken over and copies ZooKeeper into its log."""

    stage: ClassVar[Stage] = Stage.COPYING

    def settle(self) -> Hybrid:
        """Wait until both stores are written."""
        return Hybrid()

    def stop(self) -> Headless:
        """Return the stage after the controllers were stopped; ZooKeeper still has everything."""
        return Headless()


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The stage in which controllers write both stores; all brokers are in migration mode."""

    stage: ClassVar[Stage] = Stage.HYBRID

    def keep(self) -> Hybrid:
        """Repair a node, or wait: the stage stays."""
        return self

    def convert(self, left: int) -> Mixed | DualWrite:
        """Restart a broker in KRaft mode; `left` brokers then remain in migration mode."""
        return Mixed() if left else DualWrite()

    def revert(self) -> Hybrid:
        """Restart a broker in migration mode whose restart in KRaft mode was interrupted."""
        return self

    def stop(self) -> Headless:
        """Return the stage after the controllers were stopped; both stores are equal."""
        return Headless()


@dataclass(frozen=True, slots=True)
class Mixed:
    """The stage in which some brokers are in KRaft mode, and some in migration mode."""

    stage: ClassVar[Stage] = Stage.MIXED

    def keep(self) -> Mixed:
        """Repair a node, or wait: the stage stays."""
        return self

    def convert(self, left: int) -> Mixed | DualWrite:
        """Restart a broker in KRaft mode; `left` brokers then remain in migration mode."""
        return self if left else DualWrite()

    def revert(self, left: int) -> Mixed | Hybrid:
        """Restart a broker in migration mode; `left` brokers then remain in KRaft mode."""
        return self if left else Hybrid()


@dataclass(frozen=True, slots=True)
class DualWrite:
    """The stage in which all brokers are in KRaft mode, and a rollback is still possible."""

    stage: ClassVar[Stage] = Stage.DUAL_WRITE

    def keep(self) -> DualWrite:
        """Repair a node, or wait: the stage stays."""
        return self

    def finalize(self) -> Finalizing:
        """Restart a first controller without the migration flag; a rollback is now uncertain."""
        return Finalizing()

    def revert(self, left: int) -> Mixed | Hybrid:
        """Restart a broker in migration mode; `left` brokers then remain in KRaft mode."""
        return Mixed() if left else Hybrid()


@dataclass(frozen=True, slots=True)
class Finalizing:
    """The stage in which some controllers lack the migration flag; electing one finalizes."""

    stage: ClassVar[Stage] = Stage.FINALIZING

    def finalize(self) -> Final:
        """Restart another controller without the flag, the leader last."""
        return Final()

    def resume(self) -> DualWrite:
        """Restart controllers with the migration flag, if none without it was elected."""
        return DualWrite()


@dataclass(frozen=True, slots=True)
class Headless:
    """The stage in which ZooKeeper names a KRaft controller, and no controller answers."""

    stage: ClassVar[Stage] = Stage.HEADLESS

    def start(self) -> Hybrid | Mixed | DualWrite | Copying:
        """Start the controllers again; the log has their former stage."""
        return Hybrid()

    def guard(self) -> Headless:
        """Stop controllers that still run without a leader, or raise `/controller_epoch`."""
        return self

    def release(self) -> InZooKeeper:
        """Give the cluster back to the brokers, which all read ZooKeeper."""
        return InZooKeeper()


@dataclass(frozen=True, slots=True)
class Stranded:
    """The stage of a migration that was finalized while brokers were not in KRaft mode."""

    stage: ClassVar[Stage] = Stage.FINAL

    def rescue(self) -> Final:
        """Restart a broker in KRaft mode."""
        return Final()


@dataclass(frozen=True, slots=True)
class Final:
    """The stage after the migration, without a way back or into another migration."""

    stage: ClassVar[Stage] = Stage.FINAL


@dataclass(frozen=True, slots=True)
class Unknown:
    """The stage of an observation that fits no other; no step is safe."""

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
