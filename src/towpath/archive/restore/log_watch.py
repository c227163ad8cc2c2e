"""Monitoring of an archive that other processes write: new versions, silence, broken logs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.archive.log import ArchiveState, newest_histories
from towpath.model.nouns import SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms, readable


class HeardState(StrEnum):
    """The states of a followed archive: up to date, silent, or broken."""

    FOLLOWED = "followed"
    """Versions come, be it only signs of life."""
    SILENT = "silent"
    """No version came for longer than `restore.follow.silence`."""
    BROKEN = "broken"
    """The archive cannot be read on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The state of the followed archive of one region.

    Attributes:
        region: The region.
        version: The last version that was read.
        at: When it was written, in ms, by the clock of its writer.
        state: What is heard of it.
        why: Why it is not followed; empty if it is.
        codes: Codes of that, which the runbook explains.
        behind: Offsets that the source had at that version, and the archive did not.
    """

    region: str
    version: int = 0
    at: int = 0
    state: HeardState = HeardState.FOLLOWED
    why: str = ""
    codes: tuple[str, ...] = ()
    behind: int = 0

    def __str__(self) -> str:
        """Return it as a line for people."""
        told = f"region {self.region}: {self.state}, version {self.version}"
        when = f" of {readable(self.at)}" if self.at else ""
        return f"{told}{when}{f': {self.why}' if self.why else ''}"


def heard_of(
    region: str,
    state: ArchiveState,
    silence: float,
    why: Reason | None = None,
    now: int | None = None,
    since: int | None = None,
) -> Heard:
    """Return the state of a followed archive.

    Args:
        region: The region.
        state: Its newest state that could be read.
        silence: Seconds after which it counts as silent.
        why: Why it cannot be read on.
        now: The time in ms; by default this machine's.
        since: When the state came, in ms by the same clock; by default as its writer says.
    """
    kind = HeardState.BROKEN if why is not None else HeardState.FOLLOWED
    last = state.time if since is None else since
    if why is None and (now_ms() if now is None else now) - last > silence * 1000:
        kind = HeardState.SILENT
        why = Reason.of(ReasonCode.ARCHIVE_SILENT, region=region, since=readable(last))
    behind = (
        SourceOffset(each.stable_end) - each.archived_to
        for each in map(state.partitions.__getitem__, newest_histories(state.partitions).values())
    )
    return Heard(
        region=region,
        version=state.version,
        at=state.time,
        state=kind,
        why=str(why) if why is not None else "",
        codes=why.codes if why is not None else (),
        behind=sum(max(0, each) for each in behind),
    )
