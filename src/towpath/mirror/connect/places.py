"""Where the keys of a link's file come from in one of Redpanda Connect. Pure."""

from __future__ import annotations

import re

from towpath.settings.shape import Place

_IN, _OUT = ("input", "redpanda_migrator"), ("output", "redpanda_migrator")
_FROM: dict[str, Place] = {
    "source": _IN,
    "source.bootstrap": (*_IN, "seed_brokers"),
    "source.tls": (*_IN, "tls"),
    "source.sasl": (*_IN, "sasl"),
    "source.rack": (*_IN, "rack_id"),
    "target": _OUT,
    "target.bootstrap": (*_OUT, "seed_brokers"),
    "target.tls": (*_OUT, "tls"),
    "target.sasl": (*_OUT, "sasl"),
    "link": ("input", "label"),
    "topics": _OUT,
    "topics.exclude": (*_IN, "regexp_topics_exclude"),
    "topics.rename": (*_OUT, "topic"),
    "topics.replication_factor": (*_OUT, "topic_replication_factor"),
    "records": _IN,
    "records.start": (*_IN, "start_offset"),
    "records.group": (*_IN, "consumer_group"),
    "records.commit": (*_IN, "commit_period"),
    "groups": (*_OUT, "consumer_groups"),
    "groups.interval": (*_OUT, "consumer_groups", "interval"),
    "groups.include": (*_OUT, "consumer_groups", "include"),
    "groups.exclude": (*_OUT, "consumer_groups", "exclude"),
    "schemas": (*_OUT, "schema_registry"),
    "schemas.source": (*_IN, "schema_registry"),
    "schemas.source.url": (*_IN, "schema_registry", "url"),
    "schemas.source.basic": (*_IN, "schema_registry", "basic_auth"),
    "schemas.target.url": (*_OUT, "schema_registry", "url"),
    "schemas.target.basic": (*_OUT, "schema_registry", "basic_auth"),
    "schemas.include": (*_OUT, "schema_registry", "include"),
    "schemas.exclude": (*_OUT, "schema_registry", "exclude"),
    "schemas.rename": (*_OUT, "schema_registry", "subject"),
    "changes": _OUT,
    "changes.headers": (*_OUT, "headers"),
    "changes.redpanda": _OUT,
    "changes.codec": (*_OUT, "compression"),
    "metrics": ("http",),
    "metrics.listen": ("http", "address"),
}
"""By the path of a key without the indexes of lists; the longest path that begins it counts."""
_INDEX = re.compile(r"\[\d+\]")


def connect_place(path: str) -> tuple[Place, bool]:
    """Return the place in Connect's file that a key of a link's file is made of.

    Also returns whether the key is just that, or only somewhere below it.

    Args:
        path: The path of the key, as problems have it; one that is made of nothing gives ().
    """
    keys = _INDEX.sub("", path).split(".")
    for count in range(len(keys), 0, -1):
        if (place := _FROM.get(".".join(keys[:count]))) is not None:
            return place, count == len(keys)
    return (), False
