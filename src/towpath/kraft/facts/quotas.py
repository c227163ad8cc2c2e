"""Quotas deleted in the metadata log that Kafka 3.9 never deletes from ZooKeeper.

`KRaftMigrationZkWriter.handleClientQuotasDelta` of Kafka 3.9.2 looks a changed quota up among those
that are left, and ends in a NullPointerException where the last key of it is gone. Quotas of a user
alone take another way there. What comes behind it in the same change is lost with it: users, ACLs,
tokens, producer ids. A new leading controller compares everything with ZooKeeper and writes what
differs.
"""

from __future__ import annotations

from towpath.kraft.facts.image import ClusterImage
from towpath.model.quota import Entity, EntityKind


def left_behind(zookeeper: ClusterImage, log: ClusterImage) -> tuple[str, ...]:
    """Return the entities whose quotas only ZooKeeper still has, ordered.

    Args:
        zookeeper: The image of ZooKeeper.
        log: The image of the metadata log.
    """
    gone = zookeeper.quotas.keys() - log.quotas.keys()
    return tuple(sorted(" with ".join(map(str, whose)) for whose in gone if _is_lost(whose)))


def _is_lost(whose: tuple[Entity, ...]) -> bool:
    return [each.kind for each in whose] != [EntityKind.USER]
