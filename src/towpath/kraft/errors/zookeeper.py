"""Errors about ZooKeeper, which a migration to KRaft reads and leaves."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class ZooKeeperError(TowpathError):
    """ZooKeeper could not be used.

    Args:
        servers: Its servers, as the file has them.
        what: What was being done.
        why: What was answered, without secrets.
        advice: What to do about it.
    """

    code = "ZOOKEEPER"
    exit_code = 4

    def __init__(self, servers: str, what: str, why: str, advice: str = "") -> None:
        super().__init__(servers, what, why, advice)
        self.servers, self.what, self.why, self.advice = servers, what, why, advice

    def __str__(self) -> str:
        text = f"ZooKeeper at {self.servers}: {self.what}: {self.why}"
        return f"{text}; {self.advice}" if self.advice else text


class ZooKeeperAwayError(ZooKeeperError):
    """No server answered in time."""

    code = "ZOOKEEPER_AWAY"


class ZooKeeperDeniedError(ZooKeeperError):
    """The login was refused, or it may not do what was asked."""

    code = "ZOOKEEPER_DENIED"


class ZnodeUnknownError(ZooKeeperError):
    """A znode that decides about the next step is missing, or its content is of no known form."""

    code = "ZNODE_UNKNOWN"


class ZnodeChangedError(ZooKeeperError):
    """The error of a write to a znode that has changed since it was seen."""

    code = "ZNODE_CHANGED"


class ZooKeeperHeldError(TowpathError):
    """Another process works on the cluster.

    Args:
        path: The znode of the lock.
        holder: Who holds it, as it wrote.
        since: When it was taken, for people.
    """

    code = "KRAFT_HELD"
    exit_code = 4

    def __init__(self, path: str, holder: str, since: str) -> None:
        super().__init__(path, holder, since)
        self.path, self.holder, self.since = path, holder, since

    def __str__(self) -> str:
        return (
            f"{self.holder} works on this cluster since {self.since} (znode {self.path}); one"
            " orchestrator at a time changes a cluster: wait for it, or stop it (Ctrl-C or"
            " SIGTERM), then try again; if it was killed, its lock ends with its session"
        )


class ZooKeeperLockLostError(TowpathError):
    """The session that held the lock has ended, so another process may work on the cluster now."""

    code = "KRAFT_LOCK_LOST"
    exit_code = 4

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"the lock {self.path} was lost, since ZooKeeper ended our session; nothing more was"
            " done; look whether ZooKeeper is well, then start the command again: it goes on from"
            " what it sees"
        )
