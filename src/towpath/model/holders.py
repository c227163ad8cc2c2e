"""What has configs of its own besides topics and brokers: groups, and subscriptions to metrics."""

from __future__ import annotations

from enum import StrEnum


class ConfigHolder(StrEnum):
    """A kind of Kafka's config resources that clients name as they like."""

    GROUP = "group"
    """A group of consumers, also one that does not exist (KIP-848, Kafka 4.0 and newer)."""
    CLIENT_METRICS = "client metrics"
    """A subscription to metrics of clients (KIP-714, Kafka 3.7 and newer)."""
