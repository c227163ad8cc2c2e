"""`towpath restart`: permit copying of a recreated source topic from its beginning.

The ledger notes the id of the new source topic. The next planning opens its partitions as a new
incarnation: their producer ids derive from the ids of both topics, so nothing of the old topic
counts for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from towpath.cluster.metadata import every_partition
from towpath.ledger.entries import Restarted
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.wishes import require_copied, signature
from towpath.mirror.restart.restart_plan import MirrorTopic, Outcome, Restart, outcome
from towpath.mirror.subjects import SUBJECTS
from towpath.model.nouns import TopicName
from towpath.plan.applier import Applier
from towpath.plan.journal import JournalWriter
from towpath.plan.lease import Lease, require_free
from towpath.settings import LinkConfig
from towpath.topics.other_writers import writes_of_others
from towpath.topics.owned import ours_of
from towpath.topics.steps import DeleteTopic


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """The options of a restart.

    Attributes:
        topics: The source topics.
        replace: Whether mirror topics are deleted first, instead of kept.
        agreed: Called with the plan; returns whether to carry it out.
    """

    topics: tuple[TopicName, ...]
    replace: bool
    agreed: Callable[[tuple[Outcome, ...]], bool]


@dataclass(frozen=True, slots=True)
class RestartReport:
    """The result of a restart.

    Attributes:
        plan: What was planned for each topic.
        done: The topics that are copied from their beginning now.
        failed: One sentence for each mirror topic that could not be deleted.
    """

    plan: tuple[Outcome, ...]
    done: tuple[Restart, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all topics of the request were restarted."""
        return len(self.done) == len(self.plan)


def restart(config: LinkConfig, asked: RestartRequest) -> RestartReport:
    """Restart topics; a run of the link may continue unless mirror topics are replaced.

    Raises:
        ClusterError: A cluster could not be reached, or refused a request.
        ConfigError: The link never copied one of the topics.
        LedgerError: The link joins other clusters.
        LinkSealedError: The link or one of the topics is sealed or failed over.
        LinkHeldError: A mirror topic is to be replaced, and another command, such as `run`, changes
            the target for the link.
    """
    with ExitStack() as stack:
        link = stack.enter_context(open_link(config))
        link.look()
        require_copied(link, asked.topics)
        for topic in asked.topics:
            link.books.require_open(topic)
        if asked.replace:
            require_free(link)  # what a run wrote since its last receipt would count as of others
        plan = planned(link, asked)
        due = tuple(each for each in plan if isinstance(each, Restart))
        if not due or not asked.agreed(plan):
            return RestartReport(plan)
        steps = [step for each in due if (step := each.deletion) is not None]
        failed: Mapping[str, str] = {}
        if steps:
            link.prepare()
            lease = stack.enter_context(Lease(link, "restart"))
            failed = _delete(link, steps, lease)
        done = tuple(each for each in due if each.target not in failed)
        link.ledger.append(_entry(config, each) for each in done)
        for each in done:
            link.events.tell(What.TOPIC_RESTARTED, each.topic, replaced=each.deletion is not None)
        return RestartReport(plan, done, tuple(failed.values()))


def planned(link: OpenLink, asked: RestartRequest) -> tuple[Outcome, ...]:
    """Return the plan of restarting some topics.

    Raises:
        ClusterError: A cluster could not be reached.
    """
    sources = {
        name: info.id
        for name, info in link.source.topics.describe(asked.topics).items()
        if not info.error
    }
    matching = {name for name in asked.topics if link.config.topics.matches(name)}
    names, _ = link.config.topics.target_names(matching)
    mirrors = _mirrors(link, names)
    return tuple(
        outcome(
            name,
            names.get(name),
            sources,
            mirrors.get(name),
            link.books,
            replace=asked.replace,
        )
        for name in dict.fromkeys(asked.topics)
    )


def _mirrors(link: OpenLink, names: Mapping[TopicName, TopicName]) -> dict[TopicName, MirrorTopic]:
    """Return the mirror topics that exist, by source topic."""
    found = link.target.topics.describe(names.values())
    there = {source: found[name] for source, name in names.items() if name in found}
    for info in there.values():
        if info.error:
            raise info.error
    ours = ours_of(link.books, {info.name: info.id for info in there.values()})
    steps = [
        DeleteTopic(source, info.name, info.id, len(info.partitions))
        for source, info in there.items()
    ]
    foreign = writes_of_others(steps, link.books, link.target)
    tps = every_partition(found)
    first, end = link.target.offsets.earliest(tps), link.target.offsets.latest(tps)
    return {
        source: MirrorTopic(
            id=info.id,
            partitions=len(info.partitions),
            records=sum(end.sure(tp) - first.sure(tp) for tp in tps if tp.topic == info.name),
            owned=info.name in ours.created and info.name not in ours.unsure,
            foreign=info.name in foreign,
        )
        for source, info in there.items()
    }


def _delete(link: OpenLink, steps: list[DeleteTopic], lease: Lease) -> dict[str, str]:
    """Delete mirror topics; return a sentence for each one that could not be deleted."""
    with SUBJECTS.open(link) as clients:
        link.read()
        applier = Applier(clients, JournalWriter(link, clients), hold=lease.require)
        applied = applier.apply(steps)
    return {step.about: f"{step.about}: {error}" for step, error in applied.failed}


def _entry(config: LinkConfig, each: Restart) -> Restarted:
    return Restarted(
        link=config.link, topic=each.topic, source_topic_id=each.source_id, **signature()
    )
