"""The control plane of one cluster: how much clients may do (KIP-546)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from towpath.cluster.admin_changes import ChangeAdmin, Listing
from towpath.model.deadline import Deadline
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey

_EXACT, _DEFAULT = 0, 1
_KINDS, _KEYS = frozenset(EntityKind), frozenset(QuotaKey)
_ORDER = {kind: place for place, kind in enumerate(EntityKind)}


class QuotaAdmin(ChangeAdmin):
    """Asks about client quotas and changes them; see `towpath.cluster.admin.Admin`."""

    def quotas(self, whose: Sequence[Entity] = ()) -> Listing[dict[Quota, float]]:
        """Return all quotas, or those of these entities together.

        Raises:
            RefusedError: Also where the brokers do not know this question.
        """
        what = "asking for the client quotas"
        request = DescribeClientQuotasRequest(
            components=[_component(entity) for entity in whose], strict=bool(whose)
        )

        def once(deadline: Deadline) -> Listing[dict[Quota, float]]:
            answer = self._control.ask_any(request, deadline, what)
            self._check(answer, what, "DescribeConfigs on the cluster")
            return _read(answer)

        return self._control.retried(once)

    def set_quota(self, quota: Quota, value: float | None) -> None:
        """Set a quota; `None` removes it, and one that is gone already counts as removed."""
        kind = AlterClientQuotasRequest.EntryData
        entity = [kind.EntityData(entity_type=e.kind, entity_name=e.name) for e in quota.entities]
        change = kind.OpData(key=quota.key, value=value or 0.0, remove=value is None)
        what = f"{'removing' if value is None else 'setting'} the quota of {quota}"
        request = AlterClientQuotasRequest(
            entries=[kind(entity=entity, ops=[change])], validate_only=False
        )

        def read(answer: Any) -> None:
            for said in answer.entries:
                self._check(said, what, "AlterConfigs on the cluster")

        self._told(what, request, read)


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
