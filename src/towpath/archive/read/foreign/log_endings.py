"""Explanations why a foreign log ends before its files do. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from towpath.archive.format.broker_log import LogSurvey
from towpath.archive.read.foreign.broker_logs import ForeignLog

ENDING = "ending"
"""The kind of capture that tells of the end of a log, by its partition."""


@dataclass(frozen=True, slots=True)
class LogEnding:
    """The reason why a log ends before its files do.

    Attributes:
        topic: The topic.
        text: Why, as a sentence.
        lost: Whether records are missing that all replicas had.
    """

    topic: str
    text: str
    lost: bool

    @classmethod
    def of(cls, log: ForeignLog, survey: LogSurvey) -> LogEnding | None:
        """Return the reason why a log ends before its files do; `None` if it does not."""
        texts: list[str] = []
        lost = False
        if survey.cut is not None:
            cut = survey.cut
            texts.append(
                f"the last {cut.size:,} bytes of {cut.name} are not whole batches, so the log ends"
                f" at offset {survey.end}"
            )
            if log.high_watermark is not None and survey.end < log.high_watermark:
                lost = True
                texts.append(
                    f"all replicas had it up to offset {log.high_watermark}: bring back a whole"
                    " copy of the file, or take that of another replica"
                )
        if survey.stable_end < survey.end:
            texts.append(f"a transaction is open at offset {survey.stable_end}, where it ends")
        return cls(log.partition.topic, "; ".join(texts), lost) if texts else None

    def as_value(self) -> dict[str, Any]:
        """Return the ending as the value of a capture."""
        return {"topic": self.topic, "text": self.text, "lost": self.lost}
