"""Holders of configs other than topics and brokers: groups, and metrics subscriptions."""

from __future__ import annotations

from enum import StrEnum


class ConfigHolder(StrEnum):
    """The kinds of config resources whose names clients choose."""

    GROUP = "group"
    """A group of consumers, also one that does not exist (KIP-848, Kafka 4.0 and newer)."""
    CLIENT_METRICS = "client metrics"
    """A subscription to metrics of clients (KIP-714, Kafka 3.7 and newer)."""
