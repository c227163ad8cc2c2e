"""The files of a broker's log, as they are on its disk."""

from __future__ import annotations

import io
from pathlib import Path

from tests.support.kafka import end_offsets, wait_until
from towpath.archive.format.broker_log import BrokerLog, BrokerLogFile


def log_in(folder: Path) -> BrokerLog:
    """Return the log of a partition in a folder."""
    files = [file for file in map(BrokerLogFile.of, map(str, folder.iterdir())) if file]
    return BrokerLog(files, lambda name: io.BytesIO(Path(name).read_bytes()))


def wait_for_markers(folder: Path, bootstrap: str, topic: str) -> None:
    """Wait until all transactions of a partition have their markers.

    A broker answers the end of a transaction before it writes the marker.
    """

    def are_there() -> bool:
        survey = log_in(folder).survey()
        return survey.stable_end == survey.end == end_offsets(bootstrap, topic)[1]

    wait_until(are_there, "all markers are written")
