"""The verdict of a restore's proof for each partition. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from towpath.archive.restore.model import RestoreScope, RestoreTopic
from towpath.archive.restore.proof.proof_work import ComparedRange, in_any_order, in_order
from towpath.model.digest import Digest
from towpath.model.nouns import TopicName, TopicPartition

_NOTHING = "nothing of it was compared, as it is not restored"


class ProofState(StrEnum):
    """The outcomes of comparing restored records with the archive."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNCOMPARED = "not compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProof:
    """The verdict for a partition, or for a whole topic whose records are placed by key.

    Attributes:
        topic: The archived topic.
        partition: The partition, `None` for a whole topic.
        target: The topic on the target.
        first: The first archived offset that was compared; offsets of a whole topic mean nothing.
        end: The offset behind the last one.
        archived: Digest of what the archive holds.
        restored: Digest of what was read back from the target.
        ranges: In how many ranges it was compared.
        bytes: Bytes that were read back.
        others: Records of others among them on the target.
        why: Why it could not be compared, or where it differs first; "" if it is equal.
        differs: Whether it differs.
        source: The name of the region among several; "" for a single one.
    """

    topic: TopicName
    partition: int | None
    target: TopicName
    first: int = 0
    end: int = 0
    archived: Digest = Digest()  # noqa: RUF009  # it is frozen
    restored: Digest = Digest()  # noqa: RUF009  # it is frozen
    ranges: int = 0
    bytes: int = 0
    others: int = 0
    why: str = ""
    differs: bool = False
    source: str = ""

    @property
    def named(self) -> str:
        """The partition or topic of the verdict, for people."""
        text = self.topic if self.partition is None else f"{self.topic}-{self.partition}"
        return f"{self.source}/{text}" if self.source else text

    @property
    def state(self) -> ProofState:
        """The outcome of the comparison."""
        if self.differs:
            return ProofState.DIFFERENT
        return ProofState.UNCOMPARED if self.why else ProofState.EQUAL


def verdicts(
    scope: RestoreScope, compared: Iterable[ComparedRange], *, shared: bool = False
) -> Iterator[PartProof]:
    """Yield the verdict for each partition.

    Args:
        scope: What was restored.
        compared: The ranges that were compared, those of a partition in order.
        shared: Whether others may write to the topics, so that their records are only counted.
    """
    for each in _verdicts(scope, compared):
        yield each if shared else _without_others(each)


def _without_others(proof: PartProof) -> PartProof:
    """Return what a proof is worth where nobody else may write."""
    if proof.state is not ProofState.EQUAL or not proof.others:
        return proof
    why = (
        f"{proof.others} records of others stand among those that were restored, and consumers of"
        " the target see them, too; `restore.topics.shared` would allow that"
    )
    return replace(proof, why=why, differs=True)


def _verdicts(scope: RestoreScope, compared: Iterable[ComparedRange]) -> Iterator[PartProof]:
    found: dict[TopicPartition, list[ComparedRange]] = {}
    for each in compared:
        found.setdefault(each.tp, []).append(each)
    for name, topic in scope.topics.items():
        if topic.layout is not None:
            some = [each for tp in found if tp.topic == name for each in found[tp]]
            yield _by_key(topic, some)
            continue
        for tp in topic.by_partition:
            yield _straight(topic, tp, found.get(tp, []))


def _straight(topic: RestoreTopic, tp: TopicPartition, some: Sequence[ComparedRange]) -> PartProof:
    part = topic.by_partition[tp]
    made = PartProof(
        topic=tp.topic,
        partition=tp.partition,
        target=topic.target,
        first=some[0].first if some else part.start,
        end=some[-1].end if some else part.end,
        archived=in_order(each.archived for each in some),
        restored=in_order(each.restored for each in some),
        why="" if some or part.start == part.end else _NOTHING,
    )
    other = next((each for each in some if not each.why and each.archived != each.restored), None)
    return _judged(made, some, "" if other is None else _difference(other))


def _by_key(topic: RestoreTopic, some: Sequence[ComparedRange]) -> PartProof:
    """Compare a topic as a whole: each record is somewhere, once, whatever the order."""
    made = PartProof(
        topic=topic.topic.name,
        partition=None,
        target=topic.target,
        archived=in_any_order(each.archived for each in some),
        restored=in_any_order(each.restored for each in some),
        why="" if some or not topic.records else _NOTHING,
    )
    is_other = made.archived != made.restored
    told = f"its {topic.count} partitions together have {_amounts(made.archived, made.restored)}"
    return _judged(made, some, told if is_other else "")


def _judged(made: PartProof, some: Sequence[ComparedRange], difference: str) -> PartProof:
    why = next((each.why for each in some if each.why), made.why)
    return PartProof(
        topic=made.topic,
        partition=made.partition,
        target=made.target,
        first=made.first,
        end=made.end,
        archived=made.archived,
        restored=made.restored,
        ranges=len(some),
        bytes=sum(each.bytes for each in some),
        others=sum(each.others for each in some),
        why=why or difference,
        differs=bool(difference) and not why,
    )


def _difference(each: ComparedRange) -> str:
    return (
        f"archived offsets {each.first} to {each.end - 1}, on the target {each.target_first} to"
        f" {each.target_end - 1}: {_amounts(each.archived, each.restored)}"
    )


def _amounts(archived: Digest, restored: Digest) -> str:
    if archived.records != restored.records:
        return f"{restored.records} records instead of {archived.records}"
    return f"{restored.records} records as in the archive, and at least one of them is another one"
