"""Errors about the ledger, and about other processes that work on a link."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError
from towpath.model.nouns import LEDGER
from towpath.model.reason_texts import LEDGER_BACK


class LedgerError(TowpathError):
    """The ledger cannot be read or written, or its content is invalid."""

    code = "LEDGER"
    exit_code = 4


class LedgerGoneError(LedgerError):
    """The ledger was deleted while in use; `again` if another topic has its name now."""

    code = "LEDGER_GONE"

    def __init__(self, again: bool) -> None:  # as all arguments go to `Exception`
        super().__init__(again)
        self.again = again

    def __str__(self) -> str:
        now = ", and another topic has its name now" if self.again else ""
        return (
            f"the ledger (topic {LEDGER} on the target) was deleted while it was in use{now};"
            f" nothing more is copied. {LEDGER_BACK}"
        )


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
    """A newer version works on the link with features that this program does not know.

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


class NewerStateError(LedgerError):
    """A newer version moved a link into a state that this program does not know.

    Args:
        link: The link.
        state: The state.
        version: The version that moved it there.
    """

    code = "LINK_STATE_NEWER"

    def __init__(self, link: str, state: str, version: str) -> None:
        super().__init__(link, state, version)
        self.link, self.state, self.version = link, state, version

    def __str__(self) -> str:
        return (
            f"link {self.link} is in state {self.state!r}, which this program does not know; use"
            f" Towpath {self.version} or newer for this link"
        )


class LinkUnknownError(LedgerError):
    """The ledger does not know a link.

    Args:
        link: The link.
    """

    code = "LINK_UNKNOWN"

    def __init__(self, link: str) -> None:  # as all arguments go to `Exception`
        super().__init__(link)
        self.link = link

    def __str__(self) -> str:
        return (
            f"the ledger on the target knows no link {self.link}; `towpath link ls` lists those"
            " that it knows, `towpath link create` adds one"
        )


class LinkSealedError(LedgerError):
    """Nothing may be copied, as the link or a topic of it is sealed, failed over or stopped.

    Args:
        link: The link.
        state: Its state: `sealed`, `failed_over`, `reversed`, `stopped`, `removed`.
        where: Who moved it there, where, and since when.
        topic: The source topic that is in this state, "" for all of them.
        back: The link that copies back, "" for none.
        forward: Something is written that cannot be taken back.
    """

    code = "LINK_SEALED"

    def __init__(
        self, link: str, state: str, where: str, topic: str, back: str, forward: bool
    ) -> None:
        super().__init__(link, state, where, topic, back, forward)
        self.link, self.state, self.where = link, state, where
        self.topic, self.back, self.forward = topic, back, forward

    def __str__(self) -> str:
        what = f"topic {self.topic} of link {self.link}" if self.topic else f"link {self.link}"
        now = self.state.replace("_", " ")
        return f"{what} is {now} ({self.where}), so nothing is copied any more; {self._way_on}"

    @property
    def _way_on(self) -> str:
        if self.state == "stopped":
            return f"`towpath topics start FILE --topics {self.topic}` takes it up again"
        if self.state == "removed":
            return "its name is not used again: give the file another `link` name"
        if self.state == "reversed":
            return f"link {self.back} copies what clients write on the target back to the source"
        if self.state == "failed_over":
            return "clients write to the target now; `towpath failback FILE` turns the link round"
        undo = "" if self.forward else ", `towpath failover FILE --undo` takes it back"
        return f"`towpath failover FILE` ends what it began{undo}"


class LinkBusyError(LedgerError):
    """The link is already running elsewhere."""

    code = "LINK_BUSY"

    def __init__(self, link: str, where: str) -> None:
        super().__init__(link, where)
        self.link, self.where = link, where

    def __str__(self) -> str:
        return (
            f"link {self.link} is already running ({self.where}); a link has one run at a time: to"
            " run it here instead, stop that run first (Ctrl-C or SIGTERM), then try again"
        )


class LinkHeldError(LedgerError):
    """Another process holds the lease of the link; the error has its command and host."""

    code = "LINK_HELD"

    def __init__(self, link: str, command: str, where: str) -> None:
        super().__init__(link, command, where)
        self.link, self.command, self.where = link, command, where

    def __str__(self) -> str:
        known = (
            "; it does by itself what the file asks for, so stop it first to apply a saved plan"
            " or to replace a mirror topic"
            if self.command == "run"
            else "; wait until it has ended, or stop it, then try again"
        )
        return (
            f"`towpath {self.command}` changes the target for link {self.link} now"
            f" ({self.where}){known}"
        )
