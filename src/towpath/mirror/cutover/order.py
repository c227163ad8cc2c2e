"""The order of a cutover's parts: each begins only if the parts before it succeeded. Pure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from towpath.mirror.cutover.report import CutoverReport
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.model.errors import LinkBusyError, LinkHeldError, StoppedError, TowpathError
from towpath.model.findings import Cause, Note
from towpath.model.nouns import TopicPartition

_ACKNOWLEDGE = "to cut over all the same, add --without-values"


class Parts(Protocol):
    """Protocol of the parts of a cutover; each adds its findings to the report."""

    def look(self) -> None:
        """Find producers that still write, and everything that would be left out."""
        ...

    def rehearse(self) -> None:
        """Find further problems, compare copied records, and measure how long that takes."""
        ...

    def drain(self) -> None:
        """Copy everything that is still to be copied."""
        ...

    def sync(self) -> None:
        """Apply all other steps, and release withheld configs."""
        ...

    def verify(self) -> None:
        """Compare all records."""
        ...

    def look_again(self) -> None:
        """Find records and topics that appeared since the first look."""
        ...

    @property
    def brings_groups(self) -> bool:
        """Whether consumer groups are part of the cutover."""
        ...

    def groups(self) -> None:
        """Sync the consumer groups, and read them back."""
        ...

    def look_once_more(self) -> None:
        """Find records and topics that appeared while groups were brought over."""
        ...

    def record(self) -> None:
        """Record in the ledger where each partition was cut over."""
        ...

    @property
    def holds_out(self) -> bool:
        """Whether some configs must still be set on the target."""
        ...

    def settle(self) -> None:
        """Set the configs that had to wait for the end of copying."""
        ...


class Order:
    """Runs the parts of a cutover in order, as long as each succeeds.

    Args:
        report: The report that the parts fill.
        parts: The parts.
        stop: Set to end before the next part.
        without_values: See `CutoverRequest`.
    """

    def __init__(
        self,
        report: CutoverReport,
        parts: Parts,
        stop: threading.Event,
        *,
        without_values: bool = False,
    ) -> None:
        self._report, self._parts, self._stop = report, parts, stop
        self._without_values = without_values

    def rehearse(self) -> None:
        """Rehearse the cutover; nothing is changed."""
        # Producers and a run go on during a rehearsal: what they cause is nothing to mend.
        self._report.rehearsed = True
        self._do("look", self._parts.look)
        if self._report.plan.topics and self._report.failure is None:
            self._do("rehearse", self._parts.rehearse)

    def begin(self) -> bool:
        """Do the first look; return whether the cutover may continue."""
        return self._do("look", self._parts.look)

    def finish(self) -> None:
        """Do all parts after the first look."""
        if self._do("drain", self._parts.drain) and self._do("sync", self._parts.sync):
            self._do("verify", self._parts.verify)
            if self._report.failure is None:
                # Records that differ may have been written since the first look.
                self._do("look again", self._parts.look_again)
            judge(self._report, without_values=self._without_values)
            if self._report.complete and self._parts.brings_groups:
                self._do("groups", self._parts.groups)
                if self._report.complete:
                    # That takes its time, up to minutes, in which a producer may have come back.
                    self._do("look once more", self._parts.look_once_more)
            if self._report.complete:
                self._do("record", self._parts.record)
            if self._report.complete and self._parts.holds_out:
                self._do("settle", self._parts.settle)

    def _do(self, name: str, part: Callable[[], None]) -> bool:
        """Do a part; return whether the next one may begin."""
        report = self._report
        try:
            if self._stop.is_set():
                raise StoppedError(f"before the part `{name}`")
            began = time.monotonic()
            try:
                part()
            finally:
                report.seconds[name] = round(time.monotonic() - began, 1)
        except TowpathError as error:
            report.failure = error
            where = "" if isinstance(error, StoppedError) else f"{name}: "
            report.trouble.append(where + error_text(error))
        return report.complete


def judge(report: CutoverReport, *, without_values: bool = False) -> None:
    """Report partitions that differ, except where records were written meanwhile.

    Those are reported with the producers that wrote them.

    Args:
        report: The report.
        without_values: See `CutoverRequest`.
    """
    writing = {each.tp for each in report.writing}
    rows = [
        row
        for row in report.verdicts
        if row.verdict is not Verdict.EQUAL
        and row.topic not in report.appeared
        and not (row.late and TopicPartition(row.topic, row.partition) in writing)
    ]
    _judge(report, rows, without_values=without_values)


def judge_rehearsal(report: CutoverReport, *, without_values: bool = False) -> None:
    """Report partitions that would end the cutover; what is still to be copied does not.

    What the plan says of topics at risk is not said again.

    Args:
        report: The report.
        without_values: See `CutoverRequest`.
    """
    against = {Verdict.DIFFERENT, Verdict.DELETED, Verdict.NOT_PROVEN, Verdict.AT_RISK}
    told = {each.about for each in report.plan.problems if each.cause is Cause.KEEPS_LESS}
    rows = [
        row
        for row in report.verdicts
        if row.counted_only
        or (row.verdict in against and not (row.verdict is Verdict.AT_RISK and row.topic in told))
    ]
    _judge(report, rows, without_values=without_values)


def _judge(
    report: CutoverReport, rows: Iterable[PartitionVerdict], *, without_values: bool
) -> None:
    """Report what is wrong with partitions, and what the user accepts."""
    for row in rows:
        about = f"{row.topic}-{row.partition}"
        if not row.counted_only:
            report.trouble.append(f"{about}: {row.why}")
        elif not without_values:
            report.trouble.append(f"{about}: {row.why}; {_ACKNOWLEDGE}")
        elif row.behind and not report.rehearsed:
            report.trouble.append(f"{about}: {row.why}")
        else:
            report.unmade.append(Note(about, f"{row.why}; that is meant (--without-values)"))


def error_text(error: TowpathError) -> str:
    """Return the text of an error, with advice if the link runs elsewhere."""
    if isinstance(error, LinkBusyError) or (
        isinstance(error, LinkHeldError) and error.command == "run"
    ):
        return (
            f"link {error.link} is running ({error.where}); stop that `towpath run` first, it"
            " drains when it gets Ctrl-C or SIGTERM"
        )
    return str(error)
