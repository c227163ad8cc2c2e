"""The state of ZooKeeper servers, as they report it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ServerMode(StrEnum):
    """The modes of a ZooKeeper server."""

    LEADER = "leader"
    FOLLOWER = "follower"
    OBSERVER = "observer"
    STANDALONE = "standalone"


@dataclass(frozen=True, slots=True)
class ServerSeen:
    """The state of one ZooKeeper server.

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
    """The state of all ZooKeeper servers.

    Attributes:
        servers: Those of the file.
        voters: Number of servers that vote, as they tell; None where they do not.
    """

    servers: tuple[ServerSeen, ...]
    voters: int | None

    @property
    def size(self) -> int:
        """Number of voting servers in the ensemble, of which a majority must run."""
        return self.voters or len(self.servers)

    @property
    def voting(self) -> int:
        """Number of the file's servers that vote now."""
        voters = ServerMode.LEADER, ServerMode.FOLLOWER, ServerMode.STANDALONE
        return sum(server.mode in voters for server in self.servers)

    @property
    def spare(self) -> int:
        """Number of further servers that may fail before ZooKeeper loses its majority."""
        return max(0, self.voting - (self.size // 2 + 1))

    @property
    def away(self) -> tuple[ServerSeen, ...]:
        """The servers that do not serve, or do not answer."""
        return tuple(each for each in self.servers if each.mode is None)

    @property
    def is_led(self) -> bool:
        """Whether a server of the file reports that it leads or is standalone."""
        leads = ServerMode.LEADER, ServerMode.STANDALONE
        return any(each.mode in leads for each in self.servers)
