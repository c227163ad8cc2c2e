"""Metadata records about a cluster's contents, accumulated into a `ClusterImage`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from towpath.cluster.admin.numbers import (
    BROKER,
    MECHANISMS,
    OPERATIONS,
    PATTERNS,
    PERMISSIONS,
    RESOURCES,
    TOPIC,
)
from towpath.kraft.facts import digests
from towpath.kraft.facts.image import (
    ClusterImage,
    ConfigOf,
    PartitionImage,
    Scram,
    Token,
    TopicImage,
)
from towpath.model.acl import Acl
from towpath.model.foreign import foreign
from towpath.model.quota import Entity, EntityKind
from towpath.model.scram import Credential

T = TypeVar("T")

_SAME_LEADER = -2
"""In a change of a partition: the leader stays, and so does its epoch."""
_OF = {TOPIC: ConfigOf.TOPIC, BROKER: ConfigOf.BROKER}
_KRAFT_ONLY = {16: "client-metrics", 32: "group"}
"""Kinds of configs that ZooKeeper does not have (`ConfigResource.Type`, KIP-714 and KIP-848)."""
_ENTITY_KINDS = {str(kind): kind for kind in EntityKind}


def _turned(table: Mapping[T, int]) -> dict[int, T]:
    return {number: name for name, number in table.items()}


_RESOURCES, _PATTERNS = _turned(RESOURCES), _turned(PATTERNS)
_OPERATIONS, _PERMISSIONS = _turned(OPERATIONS), _turned(PERMISSIONS)
_MECHANISMS = _turned(MECHANISMS)


class Contents:
    """The contents of a cluster, updated by each record like Kafka's `MetadataDelta`.

    Attributes:
        strange: How often something was said that has no place in an image, by what it was.
    """

    def __init__(self) -> None:
        self.strange: Counter[str] = Counter()
        self._names: dict[UUID, str] = {}
        self._partitions: dict[UUID, dict[int, PartitionImage]] = {}
        self._configs: defaultdict[tuple[ConfigOf, str], dict[str, str]] = defaultdict(dict)
        self._acls: dict[UUID, Acl] = {}
        self._users: dict[Credential, Scram] = {}
        self._deleted: set[Credential] = set()
        self._quotas: defaultdict[tuple[Entity, ...], dict[str, float]] = defaultdict(dict)
        self._tokens: dict[str, Token] = {}
        self._producer_ids: int | None = None
        self._kraft_only: defaultdict[str, set[str]] = defaultdict(set)

    @property
    def kraft_only(self) -> tuple[str, ...]:
        """Configs of kinds that ZooKeeper does not have, as `client-metrics NAME`."""
        return tuple(sorted(name for name, keys in self._kraft_only.items() if keys))

    @property
    def deleted_users(self) -> tuple[str, ...]:
        """SCRAM credentials that the log deletes and does not create again."""
        return tuple(sorted(map(str, self._deleted)))

    def image(self) -> ClusterImage:
        """Return the current contents; later records do not change the returned image."""
        return ClusterImage(
            topics={
                name: TopicImage(digests.topic_id(number), dict(self._partitions[number]))
                for number, name in self._names.items()
            },
            configs={of: dict(values) for of, values in self._configs.items() if values},
            acls=frozenset(self._acls.values()),
            users=dict(self._users),
            quotas={whose: dict(values) for whose, values in self._quotas.items() if values},
            tokens=dict(self._tokens),
            producer_ids=self._producer_ids,
        )

    def topic(self, said: Any) -> None:
        """Apply a TopicRecord."""
        self._names[said.topic_id] = said.name
        self._partitions[said.topic_id] = {}

    def partition(self, said: Any) -> None:
        """Apply a PartitionRecord."""
        known = self._known(said)
        if known is not None:
            known[said.partition_id] = PartitionImage(
                replicas=tuple(said.replicas),
                adding=tuple(said.adding_replicas),
                removing=tuple(said.removing_replicas),
                isr=tuple(said.isr),
                leader=said.leader,
                leader_epoch=said.leader_epoch,
                partition_epoch=said.partition_epoch,
            )

    def partition_change(self, said: Any) -> None:
        """Apply a PartitionChangeRecord (`PartitionRegistration.merge`)."""
        known = self._known(said)
        old = None if known is None else known.get(said.partition_id)
        if known is None or old is None:
            self.strange["PartitionChangeRecord of an unknown partition"] += 1
            return
        moved = said.leader != _SAME_LEADER
        known[said.partition_id] = PartitionImage(
            replicas=_changed(said.replicas, old.replicas),
            adding=_changed(said.adding_replicas, old.adding),
            removing=_changed(said.removing_replicas, old.removing),
            isr=_changed(said.isr, old.isr),
            leader=said.leader if moved else old.leader,
            leader_epoch=old.leader_epoch + moved,
            partition_epoch=old.partition_epoch + 1,
        )

    def topic_removal(self, said: Any) -> None:
        """Apply a RemoveTopicRecord, which also removes the topic's configs."""
        name = self._names.pop(said.topic_id, None)
        if name is None:
            self.strange["RemoveTopicRecord of an unknown topic"] += 1
            return
        del self._partitions[said.topic_id]
        self._configs.pop((ConfigOf.TOPIC, name), None)

    def config(self, said: Any) -> None:
        """Apply a ConfigRecord."""
        if said.resource_type in _KRAFT_ONLY:
            keys = self._kraft_only[f"{_KRAFT_ONLY[said.resource_type]} {said.resource_name}"]
            (keys.discard if said.value is None else keys.add)(said.name)
            return
        of = _OF.get(said.resource_type)
        if of is None:
            self.strange[f"ConfigRecord of resource type {said.resource_type}"] += 1
            return
        values = self._configs[of, said.resource_name]
        if said.value is None:
            values.pop(said.name, None)
        else:
            values[said.name] = digests.value_or_digest(said.name, said.value)

    def acl(self, said: Any) -> None:
        """Apply an AccessControlEntryRecord."""
        try:
            self._acls[said.id] = Acl(
                resource=_RESOURCES[said.resource_type],
                name=said.resource_name,
                pattern=_PATTERNS[said.pattern_type],
                principal=said.principal,
                host=said.host,
                operation=_OPERATIONS[said.operation],
                permission=_PERMISSIONS[said.permission_type],
            )
        except KeyError as error:
            self.strange[f"AccessControlEntryRecord with the unknown number {foreign(error)}"] += 1

    def acl_removal(self, said: Any) -> None:
        """Apply a RemoveAccessControlEntryRecord."""
        self._acls.pop(said.id, None)

    def credential(self, said: Any) -> None:
        """Apply a UserScramCredentialRecord."""
        whose = self._credential(said)
        if whose is not None:
            self._deleted.discard(whose)
            self._users[whose] = digests.scram(
                said.iterations, said.salt, said.stored_key, said.server_key
            )

    def credential_removal(self, said: Any) -> None:
        """Apply a RemoveUserScramCredentialRecord."""
        whose = self._credential(said)
        if whose is not None:
            self._deleted.add(whose)
            self._users.pop(whose, None)

    def quota(self, said: Any) -> None:
        """Apply a ClientQuotaRecord."""
        kinds = [_ENTITY_KINDS.get(each.entity_type) for each in said.entity]
        entities = [
            Entity(kind, each.entity_name)
            for kind, each in zip(kinds, said.entity, strict=True)
            if kind is not None
        ]
        if len(entities) < len(kinds):
            types = ", ".join(each.entity_type for each in said.entity)
            self.strange[f"ClientQuotaRecord of {types}"] += 1
            return
        values = self._quotas[digests.in_order(entities)]
        if said.remove:
            values.pop(said.key, None)
        else:
            values[said.key] = said.value

    def token(self, said: Any) -> None:
        """Apply a DelegationTokenRecord."""
        times = said.issue_timestamp, said.expiration_timestamp, said.max_timestamp
        self._tokens[said.token_id] = digests.token(
            said.owner, said.requester, said.renewers, times
        )

    def token_removal(self, said: Any) -> None:
        """Apply a RemoveDelegationTokenRecord."""
        self._tokens.pop(said.token_id, None)

    def producer_ids(self, said: Any) -> None:
        """Apply a ProducerIdsRecord."""
        self._producer_ids = said.next_producer_id

    def _known(self, said: Any) -> dict[int, PartitionImage] | None:
        known = self._partitions.get(said.topic_id)
        if known is None and said.__class__.__name__ == "PartitionRecord":
            self.strange["PartitionRecord of an unknown topic"] += 1
        return known

    def _credential(self, said: Any) -> Credential | None:
        mechanism = _MECHANISMS.get(said.mechanism)
        if mechanism is None:
            self.strange[f"SCRAM mechanism {said.mechanism}"] += 1
            return None
        return Credential(said.name, mechanism)


def _changed(new: list[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if new is None else tuple(new)
