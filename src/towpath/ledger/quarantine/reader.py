"""Reading of the quarantine topic: its records, and their replays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import CommittedReader
from towpath.cluster.data.transaction_writer import settle
from towpath.ledger.quarantine.format import QuarantinedRecord, QuarantineKey, ReplayMark, decode
from towpath.ledger.quarantine.writer import PLACE
from towpath.model.nouns import QUARANTINE, LinkName, Side
from towpath.model.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class InQuarantine:
    """A record in the quarantine topic, without its bytes.

    Attributes:
        key: Where it came from.
        why: Why it was set aside.
        at: When it was set aside first, in ms since 1970.
        size: Bytes of its key, value and headers.
        replay: Its last replay, `None` if there was none.
        outdated: The mirror partition may have the record: it was begun anew since, so that the
            record was copied again or set aside again, or the ledger does not say that it is left
            out.
    """

    key: QuarantineKey
    why: Reason
    at: int
    size: int
    replay: ReplayMark | None = None
    outdated: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the record is still missing on the target and can be replayed."""
        return self.replay is None and not self.outdated


class QuarantineReader:
    """Reads quarantined records from a target.

    Attributes:
        foreign: Number of records in the topic, at the last reading, that nobody here wrote or that
            a newer version wrote.
    """

    def __init__(self, admin: Admin, client: Client) -> None:
        self._admin, self._client = admin, client
        self.foreign = 0

    def exists(self) -> bool:
        """Whether the quarantine topic exists.

        Raises:
            ClusterError: The target cannot be asked, or refuses to describe the topic.
        """
        return self._admin.topics.find(QUARANTINE) is not None

    def overview(self, link: LinkName) -> dict[QuarantineKey, InQuarantine]:
        """Return the quarantined records of a link, each once, in the order of quarantine.

        Raises:
            ClusterError: The topic cannot be read.
        """
        found: dict[QuarantineKey, InQuarantine] = {}
        marks: dict[QuarantineKey, ReplayMark] = {}
        for each in self._of(link):
            if isinstance(each, ReplayMark):
                marks[each.key] = each
            elif each.key not in found:
                found[each.key] = InQuarantine(
                    key=each.key, why=each.why, at=each.at, size=each.record.size
                )
        return {key: replace(each, replay=marks.get(key)) for key, each in found.items()}

    def records(self, link: LinkName) -> Iterator[QuarantinedRecord]:
        """Yield the quarantined records of a link with their bytes, each once.

        Raises:
            ClusterError: The topic cannot be read.
        """
        seen: set[QuarantineKey] = set()
        for each in self._of(link):
            if isinstance(each, QuarantinedRecord) and each.key not in seen:
                seen.add(each.key)
                yield each

    def settle(self) -> None:
        """Wait until no transaction is open in the quarantine topic, so that all marks are visible.

        Raises:
            UnreachableError: A transaction stays open.
            ClusterError: The topic cannot be read.
        """
        settle(self._admin, Side.TARGET, [PLACE])

    def _of(self, link: LinkName) -> Iterator[QuarantinedRecord | ReplayMark]:
        self.foreign = 0
        if not self.exists():
            return
        for record in CommittedReader(self._admin, self._client, PLACE).read():
            told = decode(record)
            if told is None:
                self.foreign += 1
            elif told.key.link == link:
                yield told
