"""The start of a link back, from the cutover of the link that made a mirror topic. Pure.

After a cutover, clients write to the mirror topic. A link in the other direction copies exactly
what they wrote: what stands before the cutover came from the cluster to which it would copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Cut
from towpath.ledger.origins import QueryCuts, mirrored
from towpath.model.amounts import counted
from towpath.model.nouns import LinkName, SourceOffset, TopicId
from towpath.runtime.clock import readable
from towpath.topics.observed import Topic

_NAMED = 3


@dataclass(frozen=True, slots=True)
class WayBack:
    """The part of a mirror topic that a link back may copy.

    Attributes:
        cuts: The last cutover of each partition that a link mirrored.
        begins: The first offset of each partition that clients wrote.
        unsure: Why that is not known, "" if it is.
        reached: Behind which offset of each partition no link has written.
    """

    cuts: Mapping[int, Cut] = field(default_factory=dict)
    reached: Mapping[int, int] = field(default_factory=dict)
    begins: Mapping[int, SourceOffset] = field(default_factory=dict)
    unsure: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the mirror topic was cut over, so that a link back knows where to begin."""
        return bool(self.cuts)

    def __str__(self) -> str:
        """Return when it was cut over, and where copying back begins."""
        last = max(self.cuts.values(), key=lambda cut: cut.at)
        shown = [f"partition {n} from offset {self.begins[n]}" for n in sorted(self.begins)]
        more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
        return f"{readable(last.at)} ({', '.join(shown[:_NAMED])}{more})"


def way_back(mirror: Topic, source: TopicId | None, by: Sequence[LinkBooks]) -> WayBack:
    """Return the part of a mirror topic that a link back may copy.

    Args:
        mirror: The mirror topic.
        source: The id that the topic to copy back to has now, `None` if there is none. One that was
            made again lacks what stands before the cutover.
        by: What the ledger beside the mirror topic knows of each link that made it.
    """
    cuts: dict[int, Cut] = {}
    unsure: list[str] = []
    reached: dict[int, int] = {}
    for link, tp, books in mirrored((mirror.name, mirror.id), source, by):
        number, cut, receipt = tp.partition, books.cut, books.receipt
        if receipt is not None and receipt.records:
            reached[number] = max(reached.get(number, 0), receipt.target_end)
        if cut is None:
            unsure.append(f"link {link} did not cut over partition {number}")
            continue
        unsure += _mixed(link, number, books, cut)
        known = cuts.get(number)
        if known is None or known.target_end < cut.target_end:
            cuts[number] = cut
    begins = {
        n: SourceOffset(cuts[n].target_end) if n in cuts else SourceOffset(0)
        for n in range(mirror.partitions)
    }
    more = f", and {len(unsure) - 1} more" if len(unsure) > 1 else ""
    return WayBack(cuts, reached, begins, f"{unsure[0]}{more}" if unsure else "")


def way_back_of_query(mirror: Topic, link: LinkName, known: QueryCuts) -> WayBack:
    """Return the part that a link back may copy of a topic that is made by a query.

    Args:
        mirror: The topic.
        link: The link whose query makes it.
        known: Its cutovers.
    """
    begins = {
        n: SourceOffset(known.cuts[n].target_end if n in known.cuts else 0)
        for n in range(mirror.partitions)
    }
    unsure = ""
    if known.cuts and known.since > 0:
        unsure = (
            f"link {link} wrote {counted(known.since, 'record')} since its cutover, and these lie"
            " among those of the clients"
        )
    return WayBack(known.cuts, {}, begins, unsure)


def _mixed(link: LinkName, number: int, books: PartitionBooks, cut: Cut) -> Iterator[str]:
    """Yield that a link went on copying behind what clients wrote."""
    receipt = books.receipt
    if receipt is None:
        return
    if receipt.producer_id != cut.producer_id:
        yield f"link {link} repaired partition {number} since its cutover of {readable(cut.at)}"
        return
    more = receipt.records - cut.records
    if more > 0:
        yield (
            f"link {link} copied {counted(more, 'record')} of partition {number} since its cutover"
            f" of {readable(cut.at)}, and these lie among those of the clients"
        )
