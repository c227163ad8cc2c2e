"""A link that was cut over, and links in the other direction."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.groups.model import GroupPosition
from towpath.groups.settle import settle
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.mirror.cutover.cuts import cuts
from towpath.mirror.cutover.groups_left import unmoved
from towpath.mirror.status.partitions import status
from towpath.model.nouns import TopicName

COPIED = 10
"""Records that the first link has copied."""


def write(cluster: LocalCluster, topic: str, of: str, count: int, partition: int = 0) -> None:
    """Write records whose values tell who wrote them."""
    values = (f"{of}{number}".encode() for number in range(count))
    produce(cluster.bootstrap, topic, [Record(b"k", each, partition=partition) for each in values])


def values(cluster: LocalCluster, topic: str, partition: int = 0) -> list[str]:
    """Return the values of a partition."""
    found = consume(cluster.bootstrap, topic, (partition,))
    return [(each.value or b"").decode() for each in found]


def cut_over(mirror: Mirror) -> None:
    """End the link as `towpath cutover` does."""
    with open_link(mirror.config) as link:
        link.prepare()
        link.look()
        rows = status(link.config, link.books, link.source, link.target)
        clients = {row.tp for row in rows if row.clients_own}
        link.ledger.append(cuts(link.name, rows, clients))


@dataclass
class There:
    """A link that has copied a topic, and was cut over."""

    mirror: Mirror

    @property
    def topic(self) -> TopicName:
        """The topic, which has one name on both sides."""
        return TopicName(self.mirror.topic)

    def link(
        self, name: str, *, back: bool = True, start: str = "latest", more: str = ""
    ) -> Mirror:
        """Return another link of the topic, with its entry in the ledger."""
        sides = self.mirror.source, self.mirror.target
        source, target = reversed(sides) if back else sides
        made = Mirror(
            self.mirror.folder, source, target, self.topic, f"{self.topic}-{name}",
            {"start": start}, more=more,
        )  # fmt: skip
        with open_link(made.config) as opened:
            opened.prepare()
        return made


def outcomes(mirror: Mirror, *, write: bool = True) -> dict[tuple[str, int], GroupPosition]:
    """Bring the groups over, as `groups sync` and the cutover do, or look as a rehearsal does."""
    with open_link(mirror.config) as link:
        link.prepare()
        sync = GroupSync(link)
        report = settle(sync) if write else sync.once(write=False)
        wrong = unmoved(report, link.books, rehearsed=not write)
    named = {each.group.name for each in report.positions if each.reason is not None}
    assert {text.split()[1] for text in wrong} == named
    return {(each.group.name, each.tp.partition): each for each in report.positions}
