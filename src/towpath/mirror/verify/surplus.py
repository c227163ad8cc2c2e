"""Records on the target that the link did not write: their writers, and the verdict. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from towpath.compare.others import OtherRecords
from towpath.compare.work import Comparison
from towpath.ledger.entries import Cut
from towpath.model.nouns import NO_LINK, LinkName, ProducerId
from towpath.runtime.clock import readable

_NAMED = 3
NO_ID = -1
"""Producer id in the batches of producers that are not idempotent."""


@dataclass(frozen=True, slots=True)
class OtherWriter:
    """A producer, or a link, that also wrote to a mirror topic.

    Attributes:
        link: The link, if the ledger knows that it writes under the producer id.
        producer: The producer id; -1 for all producers without one, and for links.
        records: The number of its records.
    """

    link: LinkName | None
    producer: int
    records: int

    def __str__(self) -> str:
        who = f"producer {self.producer}" if self.producer != NO_ID else "producers without an id"
        return f"{self.records:,} of {f'link {self.link}' if self.link else who}"


@dataclass(frozen=True, slots=True)
class Others:
    """The verdict on other writers' records in one target partition.

    Attributes:
        writers: Who wrote them, the largest number of records first.
        surplus: Whether they must not be there.
        text: A sentence about them, "" if there are none.
        replayed: A sentence about those that were replayed from the quarantine, likewise. They may
            be there in any case.
    """

    writers: tuple[OtherWriter, ...] = ()
    surplus: bool = False
    text: str = ""
    replayed: str = ""


@dataclass(frozen=True, slots=True)
class OthersRule:
    """The rule about who besides a link may write to its mirror topics.

    Attributes:
        link: The link.
        link_of: Returns the link that writes under a producer id, `None` if the ledger knows none.
        shared: Whether the file sets `topics.shared: true`.
        replayers: The producer ids under which the link replays what was in quarantine.
        twin: The link that copies what others write there to the source, "" if none does.
    """

    link: LinkName
    link_of: Callable[[ProducerId], LinkName | None]
    shared: bool = False
    replayers: frozenset[ProducerId] = frozenset()
    twin: LinkName = NO_LINK

    def judge(self, comparison: Comparison | None, *, mapped: bool) -> Others:
        """Return the verdict on other writers' records.

        In a mapped partition others may have written before the link, or beside it. Another link
        may have copied the same records there, so it needs `topics.shared: true`.
        """
        if comparison is None or not comparison.others.records:
            return Others()
        others, replayed = self._without_replayed(comparison.others)
        told = _replayed(replayed) if replayed else ""
        writers = self._writers(others)
        if not writers:
            return Others(self._writers(comparison.others), replayed=told)
        links = {each.link for each in writers if each.link is not None} - {self.link}
        surplus = not self.shared and (not (mapped or self.twin) or bool(links))
        text = _sentence(others, writers, surplus=surplus, twin=self.twin)
        return Others(writers, surplus, text, told)

    def judge_clients(self, comparison: Comparison | None, cut: Cut | None) -> Others:
        """Return the verdict on other writers' records after a cutover, which clients may write.

        Those of another link are not, unless the file sets `topics.shared: true`.
        """
        if comparison is None or cut is None or not comparison.behind_cut.records:
            return Others()
        found = comparison.behind_cut
        writers = self._writers(found)
        links = {each.link for each in writers if each.link is not None} - {self.link}
        if links and not self.shared:
            return Others(writers, True, _sentence(found, writers, surplus=True))
        text = (
            f"{found.records:,} records behind the cutover of {readable(cut.at)} are the clients'"
            f" own ({', '.join(_named(writers))})"
        )
        return Others(writers, False, text)

    def _without_replayed(self, others: OtherRecords) -> tuple[OtherRecords, int]:
        """Return the records that were not replayed, and the number of those that were."""
        rest = tuple(each for each in others.producers if each[0] not in self.replayers)
        replayed = sum(count for _, count in others.producers) - sum(count for _, count in rest)
        first = others.first if not replayed else -1
        return OtherRecords(others.records - replayed, first, rest), replayed

    def _writers(self, others: OtherRecords) -> tuple[OtherWriter, ...]:
        """Return who wrote the records. A link has many producer ids and counts as one writer."""
        found: dict[tuple[LinkName | None, int], int] = {}
        for producer, records in others.producers:
            link = self.link_of(producer)
            key = link, NO_ID if link else int(producer)
            found[key] = found.get(key, 0) + records
        made = (OtherWriter(*key, records) for key, records in found.items())
        return tuple(sorted(made, key=lambda each: -each.records))


NOBODY = OthersRule(NO_LINK, lambda _: None)
"""The ledger knows no link at all."""


def _sentence(
    others: OtherRecords,
    writers: Sequence[OtherWriter],
    *,
    surplus: bool,
    twin: LinkName = NO_LINK,
) -> str:
    beside = f"of others, which link {twin} copies to the source" if twin else "of others"
    what = "surplus: this link did not write them" if surplus else f"{beside}, not compared"
    where = f"; the first at target offset {others.first}" if others.first >= 0 else ""
    many = "record on the target is" if others.records == 1 else "records on the target are"
    return f"{others.records:,} {many} {what} ({', '.join(_named(writers))}{where})"


def _replayed(count: int) -> str:
    what = "record on the target was" if count == 1 else "records on the target were"
    return f"{count:,} {what} replayed from the quarantine, not compared"


def _named(writers: Sequence[OtherWriter]) -> Iterator[str]:
    yield from map(str, writers[:_NAMED])
    if len(writers) > _NAMED:
        yield f"and {len(writers) - _NAMED} more"
