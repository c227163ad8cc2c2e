"""Errors of ZooKeeper during a migration to KRaft."""

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
    """No ZooKeeper server answered in time."""

    code = "ZOOKEEPER_AWAY"


class ZooKeeperDeniedError(ZooKeeperError):
    """ZooKeeper refused the login, or denied the operation."""

    code = "ZOOKEEPER_DENIED"


class ZnodeUnknownError(ZooKeeperError):
    """A znode that decides the next step is missing, or its content is not understood."""

    code = "ZNODE_UNKNOWN"


class ZnodeChangedError(ZooKeeperError):
    """A write to a znode failed because the znode has changed since it was read."""

    code = "ZNODE_CHANGED"


class ZooKeeperHeldError(TowpathError):
    """Another process holds the lock for work on the cluster.

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
    """The ZooKeeper session of the lock has ended, so another process may hold it now."""

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
