"""Which fields of objects others keep."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kraft.pods import config_map, pod_config, stateful_set
from towpath.kraft.config import KubernetesDriver
from towpath.kraft.facts.nouns import Role
from towpath.kraft.reach.kubernetes.node_place import manager_of, place_of
from towpath.kraft.reach.kubernetes.objects import gate_object, properties_object
from towpath.kraft.reach.kubernetes.owners import KeptField, fields_by_manager, kept_by_others

DATA: dict[str, Any] = {"f:data": {".": {}, "f:other": {}, "f:server.properties": {}}}


def kept(
    there: dict[str, Any], manager: str, fields: object, operation: str = "Update"
) -> dict[str, Any]:
    """Return an object one of whose managers keeps fields."""
    entry = {"manager": manager, "operation": operation, "fieldsV1": fields}
    there["metadata"].setdefault("managedFields", []).append(entry)
    return there


def found(there: dict[str, Any], text: bytes = b"new") -> tuple[KeptField, ...]:
    config = pod_config()
    assert isinstance(config.driver, KubernetesDriver)
    place = place_of(config.driver, Role.BROKER, config.brokers[0])
    return kept_by_others(properties_object(place, text), there, manager_of(place))


def test_a_file_that_another_manager_keeps_is_named_with_it() -> None:
    there = kept(kept(config_map(0), "argocd-controller", DATA), "towpath-0", DATA, "Apply")
    assert found(there) == (KeptField("argocd-controller", ".data.server.properties"),)
    assert fields_by_manager(found(there)) == "argocd-controller: .data.server.properties"


@pytest.mark.parametrize("operation", ["Apply", "Update"])
def test_what_we_wrote_ourselves_is_ours(operation: str) -> None:
    assert found(kept(config_map(0), "towpath-0", DATA, operation)) == ()


def test_nothing_is_taken_where_the_value_stays_or_nobody_keeps_it() -> None:
    same = config_map(0)["data"]["server.properties"].encode()
    assert found(kept(config_map(0), "helm", DATA), same) == ()
    assert found(kept(config_map(0), "helm", {"f:data": {"f:other": {}}})) == ()
    assert found(config_map(0)) == ()


@pytest.mark.parametrize("left", [{}, {".": {}}])
def test_a_map_alone_is_no_field_that_changes(left: dict[str, Any]) -> None:
    """What is left to a manager from whom all keys of a map were taken."""
    assert found(kept(config_map(0), "helm", {"f:data": left})) == ()


def test_a_list_of_texts_is_kept_as_a_whole() -> None:
    there = stateful_set()
    gate = gate_object(there, "kafka", "towpath-orders")
    first = {**gate["spec"]["template"]["spec"]["initContainers"][0], "command": ["true"]}
    there["spec"]["template"]["spec"]["initContainers"] = [first]
    fields: dict[str, Any] = {'k:{"name":"towpath-hold"}': {"f:command": {}, "f:env": {}}}
    keeps = {"f:spec": {"f:template": {"f:spec": {"f:initContainers": fields}}}}
    named = '.spec.template.spec.initContainers[{"name":"towpath-hold"}].command'
    assert kept_by_others(gate, kept(there, "helm", keeps), "towpath") == (
        KeptField("helm", named),
    )


def test_elements_of_lists_are_told_apart_by_their_keys() -> None:
    there = stateful_set()
    gate = gate_object(there, "kafka", "towpath-orders")

    def keeps(name: str) -> dict[str, Any]:
        first: dict[str, Any] = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}, "f:image": {}}}
        return {"f:spec": {"f:template": {"f:spec": {"f:initContainers": first}}}}

    assert kept_by_others(gate, kept(stateful_set(), "helm", keeps("other")), "towpath") == ()
    there["spec"]["template"]["spec"]["initContainers"] = [{"name": "towpath-hold", "image": "x"}]
    named = '.spec.template.spec.initContainers[{"name":"towpath-hold"}].image'
    assert kept_by_others(gate, kept(there, "helm", keeps("towpath-hold")), "towpath") == (
        KeptField("helm", named),
    )
