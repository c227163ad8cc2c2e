"""Errors about a migration from ZooKeeper to KRaft."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class KraftJournalError(TowpathError):
    """The journal of a migration cannot be read or written."""

    code = "KRAFT_JOURNAL"
    exit_code = 4

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path, self.why = path, why

    def __str__(self) -> str:
        return (
            f"the journal {self.path} cannot be used: {self.why}; nothing is done that could not be"
            " written down: free the disk or name another folder as `journal`"
        )


class JournalHeldError(TowpathError):
    """Another process on this machine holds the migration's lock file, `path`."""

    code = "KRAFT_HELD"
    exit_code = 4

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"another process on this machine works on this migration (it holds {self.path}); one"
            " orchestrator at a time changes a cluster: wait for it, or stop it (Ctrl-C or"
            " SIGTERM), then try again"
        )


class KraftFileError(TowpathError):
    """A properties file of a node is malformed, and Kafka would refuse it too."""

    code = "KRAFT_FILE"
    exit_code = 4

    def __init__(self, node: int, path: str, why: str) -> None:
        super().__init__(node, path, why)
        self.node, self.path, self.why = node, path, why

    def __str__(self) -> str:
        return (
            f"node {self.node}: {self.path}: {self.why}; nothing is done to a node whose files are"
            " not understood: look at the file on its host and mend it"
        )


class UnexpectedStageError(TowpathError):
    """A step led to an unexpected stage; nothing more is done until a person has looked."""

    code = "KRAFT_STAGE"
    exit_code = 3

    def __init__(self, step: str, expected: str, found: str) -> None:
        super().__init__(step, expected, found)
        self.step, self.expected, self.found = step, expected, found

    def __str__(self) -> str:
        return (
            f"behind the step `{self.step}` the cluster should be in stage {self.expected}, and is"
            f" in stage {self.found}; nothing more is done: look at it with `towpath kraft status`,"
            " then run the command again, which plans from what it sees"
        )
