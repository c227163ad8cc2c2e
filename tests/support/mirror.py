"""Mirror between two clusters in this process: the same slices as on Spark, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.kafka import create_topic
from tests.support.whole_files import write_whole
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Entry
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import Ledger
from towpath.mirror.gap_archive import feeding
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.records.copy import copy
from towpath.records.work import CopySlice, Summary
from towpath.settings import LinkConfig, load


@dataclass
class Mirror:
    """One link that mirrors one topic under its own name."""

    folder: Path
    source: LocalCluster
    target: LocalCluster
    topic: str
    link: str = ""
    records: Mapping[str, str] = field(default_factory=dict)
    timeout: str = "30s"
    more: str = ""
    """Further lines of the section `topics`."""
    sections: str = ""
    """Further sections of the file."""

    @property
    def config(self) -> LinkConfig:
        """The file of the link, read."""
        link = self.link or self.topic
        configs = {"start": "earliest", **self.records}
        file = self.folder / f"{link}.yaml"
        write_whole(
            file,
            f"source: {self._side(self.source)}\n"
            f"target: {self._side(self.target)}\n"
            f"link: {link}\n"
            f"topics:\n  include: ['{self.topic}']\n{self.more}"
            "records:\n"
            + "".join(f"  {key}: {value}\n" for key, value in configs.items())
            + self.sections,
        )
        return load(file)

    def address(self, cluster: LocalCluster) -> str:
        """Return where the mirror finds a cluster."""
        return cluster.bootstrap

    def _side(self, cluster: LocalCluster) -> str:
        return f"{{bootstrap: '{self.address(cluster)}', request_timeout: {self.timeout}}}"

    def create(self, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Create the topic on both sides."""
        for cluster in (self.source, self.target):
            create_topic(cluster.bootstrap, self.topic, partitions, config)

    def slices(self, parallelism: int = 1, run_id: str = "") -> list[CopySlice]:
        """Plan one round, of a run of its own by default, that ends where the source ends now."""
        config = self.config
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(config.target, Side.TARGET))
            client = stack.enter_context(Client(config.target, Side.TARGET, admin))
            Ledger(admin, client).create()
        return plan_round(RoundPlan(config, run_id or new_name(), parallelism, once=True), 1)

    def catch_up(self) -> list[Summary]:
        """Copy everything that the source has now."""
        return [done for work in self.slices() for done in copy(work, feeding=feeding(work))]

    def note(self, entry: Entry) -> None:
        """Append an entry to the ledger."""
        config = self.config
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(config.target, Side.TARGET))
            client = stack.enter_context(Client(config.target, Side.TARGET, admin))
            Ledger(admin, client).append([entry])

    def books(self, partition: int = 0) -> PartitionBooks:
        """Return what the ledger knows of a partition."""
        return self.link_books().of(TopicPartition(TopicName(self.topic), partition))

    def link_books(self) -> LinkBooks:
        """Return what the ledger knows of the link."""
        config = self.config
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(config.target, Side.TARGET))
            client = stack.enter_context(Client(config.target, Side.TARGET, admin))
            return Ledger(admin, client).books(config.link)
