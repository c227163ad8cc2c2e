"""The meter of a migration to KRaft, and its measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from towpath.kraft.metrics import names
from towpath.metering.measurement import Measurement, alone, labelled
from towpath.metering.meter import Meter


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftCounts:
    """The metric values of one observation.

    Attributes:
        at: When, in ms since 1970.
        state: Number of KIP-866's state; None where there is none.
        kafka_state: Number of Kafka's own metric; None where it cannot be told.
        stages: 1 for the present stage, 0 for all others.
        alarms: 1 for raised alarms, 0 for all others.
        differences: By kind; empty where nothing was compared.
        brokers: Number of brokers by mode.
        unseen: Number of things that could not be looked at.
    """

    at: int
    state: int | None
    kafka_state: int | None
    stages: Mapping[str, int]
    alarms: Mapping[str, int]
    differences: Mapping[str, int]
    brokers: Mapping[str, int]
    unseen: int


class KraftMeter(Meter[KraftCounts]):
    """Keeps the values of the last observation, and the start of the current step.

    Attributes:
        step_begun: In seconds since 1970; None between steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.step_begun: float | None = None

    def tell(self, counts: KraftCounts) -> None:
        """Keep the values of an observation."""
        super().tell(counts)
        self.turned()


def measured(meter: KraftMeter, version: str, migration: str) -> Iterator[Measurement]:
    """Yield every metric of a migration, including those without a series at present.

    Args:
        meter: What was found.
        version: The version of Towpath.
        migration: The name of the migration.
    """
    now = meter.newest
    yield Measurement(names.KRAFT_INFO, [((version, migration), 1)])
    yield alone(names.KRAFT_STATE, now.state if now else None)
    yield alone(names.KAFKA_STATE, now.kafka_state if now else None)
    yield labelled(names.KRAFT_STAGE, now.stages if now else {})
    yield labelled(names.KRAFT_ALARM, now.alarms if now else {})
    yield labelled(names.KRAFT_DIFFERENCES, now.differences if now else {})
    yield labelled(names.KRAFT_BROKERS, now.brokers if now else {})
    yield alone(names.KRAFT_UNSEEN, now.unseen if now else None)
    yield alone(names.KRAFT_LOOK, now.at / 1000 if now else None)
    yield alone(names.KRAFT_STEP, meter.step_begun)
