"""A supply of batches from broker log files, passed on unchanged."""

from __future__ import annotations

from towpath.archive.errors import CorruptSegmentError, WithheldError
from towpath.archive.format.broker_log import LogSurvey
from towpath.archive.read.feed.supply import Chunk, Chunks
from towpath.archive.read.foreign.broker_logs import ForeignLog
from towpath.model.errors import ObjectMissingError
from towpath.model.nouns import SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.store import Store


class LogSupply:
    """Supplies the batches of a broker's log files; implements `Supply`.

    Args:
        store: Where the log is.
        log: The log.
        end: The offset behind what is restored.
    """

    weight = 24 << 20

    def __init__(self, store: Store, log: ForeignLog, end: SourceOffset) -> None:
        self._log, self._end = log, end
        self._reader = log.open(store)
        self._survey: LogSurvey | None = None

    def read(self, first: SourceOffset) -> Chunks:
        """Yield the batches from offset `first` on, in order, to the end of the restored range."""
        at = first
        try:
            if self._survey is None:
                self._survey = self._reader.survey()
            for part in self._reader.batches(self._survey, first, self._end):
                at = part.end
                yield Chunk(part.data, at, told=at, aborted=part.aborted)
        except ObjectMissingError as error:
            missing = Reason.of(ReasonCode.ARCHIVE_MISSING, key=str(self._log.partition))
            raise WithheldError(at, self._end, missing) from error
        except CorruptSegmentError as error:
            damaged = Reason.of(ReasonCode.ARCHIVE_DAMAGED, key=error.name, why=error.why)
            raise WithheldError(at, self._end, damaged) from error
        if at < self._end:
            yield Chunk(bytearray(), self._end, told=at)
