"""The Kubernetes objects created for a controller, from its entry in the file. Pure."""

from __future__ import annotations

from towpath.kraft.config.file import KraftConfig, KraftController
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.facts.nouns import Role
from towpath.kraft.reach.commands import filled
from towpath.kraft.reach.kubernetes.node_place import NodePlace, hold_name
from towpath.kraft.reach.kubernetes.objects import (
    KubernetesObject,
    controller_object,
    service_object,
)


def controller_objects(
    config: KraftConfig,
    driver: KubernetesDriver,
    node: KraftController,
    place: NodePlace,
    broker: tuple[KubernetesObject, NodePlace],
) -> tuple[KubernetesObject, KubernetesObject]:
    """Return the Service of all controllers, and the StatefulSet of one.

    Args:
        config: The file.
        driver: Its section.
        node: The controller in the file.
        place: Where it lives.
        broker: The StatefulSet of a broker, and where that broker lives.
    """
    hold = hold_name(config.kraft)
    addresses = [each.address for each in config.controllers.nodes]
    start = filled(driver.controllers.start, place.node, Role.CONTROLLER, node.properties)
    service = service_object(driver, hold, addresses)
    return service, controller_object(driver, place, broker, hold, start)
