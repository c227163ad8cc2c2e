"""The DescribeConfigs request, for topics and brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest

TOPIC, BROKER = 2, 4
"""Kafka's numbers for kinds of resources (`ConfigResource.Type`)."""


def describe_configs(kind: int, names: Sequence[str], keys: Sequence[str] | None = None) -> Any:
    """Return the request for the configs of these resources, by default for all configs."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for name in names
        ]
    )
