"""Client quotas (KIP-546)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from towpath.cluster.admin.changes import (
    Listing,
    check,
    refusal,
    tell_controller,
    wait_for_brokers,
)
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers
from towpath.model.errors import ClusterError
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.runtime.deadline import Deadline

_EXACT, _DEFAULT = 0, 1
_KINDS, _KEYS = frozenset(EntityKind), frozenset(QuotaKey)
_ORDER = {kind: place for place, kind in enumerate(EntityKind)}


class QuotaAdmin:
    """Lists and changes client quotas."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def describe(self, whose: Sequence[Entity] = ()) -> Listing[dict[Quota, float]]:
        """Return all quotas, or those of exactly these entities.

        Raises:
            RefusedError: The request failed, or the brokers do not support it.
        """
        what = "asking for the client quotas"
        request = _asking(whose)

        def once(deadline: Deadline) -> Listing[dict[Quota, float]]:
            answer = self._control.ask_any(request, deadline, what)
            check(self._control.side, answer, what, "DescribeConfigs on the cluster")
            return _read(answer)

        return self._control.retried(once)

    def change(self, quota: Quota, value: float | None) -> None:
        """Set a quota; `None` removes it. A quota that does not exist counts as removed."""
        self.change_all({quota: value}).sure(quota)

    def change_all(self, values: Mapping[Quota, float | None]) -> Answers[Quota, None]:
        """Set quotas. Those of the same entities are set together or not at all."""
        changes: dict[tuple[Entity, ...], list[Quota]] = defaultdict(list)
        for quota in values:
            changes[quota.entities].append(quota)
        request = AlterClientQuotasRequest(
            entries=[_change(each, values) for each in changes.values()], validate_only=False
        )
        entries = tell_controller(
            self._control, "changing client quotas", request, lambda answer: answer.entries
        )
        failed: dict[Quota, ClusterError] = {}
        for said in entries:
            for quota in changes[_entities(said)] if said.error_code else ():
                what = f"{'removing' if values[quota] is None else 'setting'} the quota of {quota}"
                failed[quota] = refusal(
                    self._control.side, said, what, "AlterConfigs on the cluster"
                )
        done = [quota for group in changes.values() for quota in group if quota not in failed]
        if done:
            self._quota_heard(done[-1], values[done[-1]])
        return Answers(dict.fromkeys(done), failed)

    def _quota_heard(self, quota: Quota, value: float | None) -> None:
        what = f"waiting until all brokers know the quota of {quota}"
        wait_for_brokers(
            self._control,
            what,
            _asking(quota.entities),
            lambda said: _read(said).known.get(quota) == value,
        )


def _change(quotas: Sequence[Quota], values: Mapping[Quota, float | None]) -> Any:
    kind = AlterClientQuotasRequest.EntryData
    return kind(
        entity=[
            kind.EntityData(entity_type=entity.kind, entity_name=entity.name)
            for entity in quotas[0].entities
        ],
        ops=[
            kind.OpData(key=quota.key, value=values[quota] or 0.0, remove=values[quota] is None)
            for quota in quotas
        ],
    )


def _asking(whose: Sequence[Entity]) -> Any:
    components = [_component(entity) for entity in whose]
    return DescribeClientQuotasRequest(components=components, strict=bool(whose))


def _component(entity: Entity) -> Any:
    return DescribeClientQuotasRequest.ComponentData(
        entity_type=entity.kind,
        match_type=_DEFAULT if entity.name is None else _EXACT,
        match=entity.name,
    )


def _read(answer: Any) -> Listing[dict[Quota, float]]:
    found: dict[Quota, float] = {}
    strange: set[str] = set()
    for entry in answer.entries or ():
        kinds = {part.entity_type for part in entry.entity}
        strange |= {f"entity {kind}" for kind in kinds - _KINDS}
        if kinds <= _KINDS:
            strange |= {f"key {said.key}" for said in entry.values if said.key not in _KEYS}
            entities = _entities(entry)
            for said in entry.values:
                if said.key in _KEYS:
                    found[Quota(entities, QuotaKey(said.key))] = said.value
    return Listing(found, tuple(sorted(strange)))


def _entities(entry: Any) -> tuple[Entity, ...]:
    parts = (Entity(EntityKind(part.entity_type), part.entity_name) for part in entry.entity)
    return tuple(sorted(parts, key=lambda entity: _ORDER[entity.kind]))
