"""Notes on a cutover besides equality: mapped offsets, ACLs, configs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from towpath.access.subject import ACCESS, WITHHELD
from towpath.mirror.cutover.writers import Writing
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.transformed import MODE as TRANSFORMED
from towpath.model.amounts import counted
from towpath.model.findings import Note
from towpath.model.nouns import Mode
from towpath.plan.differences import Differences
from towpath.settings import LinkConfig
from towpath.topics.configs import held_out
from towpath.topics.subject import TOPICS

_NAMED = 3
_DIFFER = frozenset({Mode.MAPPED, TRANSFORMED})


def mapped(rows: Iterable[PartitionStatus]) -> tuple[PartitionStatus, ...]:
    """Return the partitions whose offsets differ from those at the source."""
    return tuple(r for r in rows if r.mode in _DIFFER and r.state is not State.EXCLUDED)


def why_mapped(row: PartitionStatus) -> str:
    """Return why the offsets of a partition differ from those at the source."""
    return "its records go through a query" if row.mode == TRANSFORMED else row.reason


def offsets_differ(rows: Sequence[PartitionStatus]) -> Iterator[Note]:
    """Yield a note on mapped offsets for clients that store offsets outside Kafka.

    Args:
        rows: The mapped partitions.
    """
    if rows and all(row.mode == TRANSFORMED for row in rows):
        text = (
            f"records of {counted(len(rows), 'partition')} go through a query: no offset on the"
            " target belongs to one at the source; clients that keep offsets outside Kafka"
            " (checkpoints of Spark and Flink, sinks, databases) begin anew there, and consumer"
            " groups go on at its end, if they have read everything"
        )
        yield Note("offsets", text)
    elif rows:
        text = (
            f"{counted(len(rows), 'partition')} {'is' if len(rows) == 1 else 'are'} mapped"
            f" ({_some([_because(row) for row in rows])}): offsets there are not those of the"
            " source; committed offsets of groups are translated, but offsets that clients keep"
            " outside Kafka (checkpoints of Spark and Flink, sinks, databases) mean other records"
            " on the target: translate each by `towpath groups translate FILE GROUP --partition"
            " TOPIC-NUMBER --at OFFSET`, or let these clients begin anew"
        )
        yield Note("offsets", text)


def _because(row: PartitionStatus) -> str:
    return f"{row.tp}: {row.reason}" if row.reason else str(row.tp)


def holds_out(found: Differences | None, config: LinkConfig) -> bool:
    """Return whether some configs must still be set once a topic is cut over."""
    if found is None:
        return False
    part = found.of(TOPICS)
    seen, rules = part.seen.topics, config.topics.configs
    return any(
        held_out(topic, seen.target.get(part.found.topics[topic.name]), rules)
        for topic in seen.source
        if topic.name in part.found.topics
    )


def acls_held(found: Differences | None) -> int:
    """Return the number of the source's ACLs that `access.acls: safe` withholds."""
    if found is None:
        return 0
    counts = found.of(ACCESS).found.counts
    return sum(number for (kind, _), number in counts.items() if kind == WITHHELD)


def rights_first(held: int) -> str:
    """Return the step before clients can move if ACLs are withheld, "" otherwise."""
    if not held:
        return ""
    return (
        f"`acls: safe` still holds back {counted(held, 'ACL')}, without which clients may not"
        " write: set `access.acls: full` and give `towpath apply FILE --only acls` first; then "
    )


def to_stop(writing: Collection[Writing]) -> list[str]:
    """Return one sentence about the producers to stop before the cutover itself."""
    open_ = [each for each in writing if each.before == each.after]
    grew = [each for each in writing if each.after > each.before]
    found = []
    if grew:
        found.append(
            f"{counted(len(grew), 'partition')} {'is' if len(grew) == 1 else 'are'} written to"
            f" ({_some([str(each.tp) for each in grew])}): stop the producers"
        )
    if open_:
        found.append(
            f"{counted(len(open_), 'partition')} {'has' if len(open_) == 1 else 'have'} an open"
            f" transaction ({_some([str(each.tp) for each in open_])}): its producer must commit or"
            " abort it"
        )
    return found


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
