"""The servers of a ZooKeeper, as they describe themselves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ServerMode(StrEnum):
    """The mode of a server of ZooKeeper."""

    LEADER = "leader"
    FOLLOWER = "follower"
    OBSERVER = "observer"
    STANDALONE = "standalone"


@dataclass(frozen=True, slots=True)
class ServerSeen:
    """One server of ZooKeeper.

    Attributes:
        address: As the file has it.
        mode: None for one that does not serve, or does not tell.
        version: Its version, "" where it does not tell.
        waiting: Requests that it has not answered yet.
        why: What was answered instead of a mode.
    """

    address: str
    mode: ServerMode | None
    version: str
    waiting: int | None
    why: str


@dataclass(frozen=True, slots=True)
class EnsembleSeen:
    """The servers of ZooKeeper.

    Attributes:
        servers: Those of the file.
        voters: Number of servers that vote, as they tell; None where they do not.
    """

    servers: tuple[ServerSeen, ...]
    voters: int | None

    @property
    def size(self) -> int:
        """Number of servers that vote, of which most must run."""
        return self.voters or len(self.servers)

    @property
    def voting(self) -> int:
        """Number of servers of the file that vote now."""
        voters = ServerMode.LEADER, ServerMode.FOLLOWER, ServerMode.STANDALONE
        return sum(server.mode in voters for server in self.servers)

    @property
    def spare(self) -> int:
        """Number of further servers that may fail before ZooKeeper serves nobody."""
        return max(0, self.voting - (self.size // 2 + 1))

    @property
    def away(self) -> tuple[ServerSeen, ...]:
        """The servers that do not serve, or do not answer."""
        return tuple(each for each in self.servers if each.mode is None)

    @property
    def is_led(self) -> bool:
        """Whether a server of the file says that it leads, or is alone."""
        leads = ServerMode.LEADER, ServerMode.STANDALONE
        return any(each.mode in leads for each in self.servers)
