"""From the file to the plan. Both clusters are looked at, none is touched."""

from __future__ import annotations

from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.config import ClusterConfig, LinkConfig
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import Ledger
from towpath.mirror.forecast import Forecast, forecast
from towpath.mirror.gaps import markers
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.findings import Cause, Note, Obstacle
from towpath.model.nouns import Side
from towpath.plan.differences import Differences, differences
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.preflight import (
    ledger,
    old_target,
    unmatched_expressions,
)
from towpath.plan.steps import ordered
from towpath.status.status import caught_up, status
from towpath.topics.narrow import narrowed
from towpath.topics.room import room
from towpath.topics.steps import CreateTopic


def build(config: LinkConfig) -> Plan:
    """Return what a run would begin with; what goes wrong on the way is part of it."""
    with (
        Admin(config.source, Side.SOURCE) as source,
        Admin(config.target, Side.TARGET) as target,
    ):
        plan = _met(config, source, target)
        if plan.obstacles:
            return plan
        try:
            return _compared(plan, config, source, target)
        except ClusterError as error:
            return replace(plan, obstacles=(_whole(error, getattr(error, "side", Side.TARGET)),))


def _met(config: LinkConfig, source: Admin, target: Admin) -> Plan:
    """Return a plan that knows the clusters only; both are tried, whatever becomes of the first."""
    met: dict[Side, ClusterFacts] = {}
    obstacles = []
    for side, admin, where in (
        (Side.SOURCE, source, config.source),
        (Side.TARGET, target, config.target),
    ):
        try:
            met[side] = _facts(admin, where)
        except ClusterError as error:
            obstacles.append(_whole(error, side))
    return Plan(config.link, met.get(Side.SOURCE), met.get(Side.TARGET), obstacles=tuple(obstacles))


def _whole(error: ClusterError, side: str) -> Obstacle:
    return Obstacle(side, str(error), Cause.CLUSTER)


def _facts(admin: Admin, config: ClusterConfig) -> ClusterFacts:
    version = ".".join(map(str, admin.cluster.version))
    return ClusterFacts(
        config.bootstrap, admin.cluster.id(), version, len(admin.cluster.brokers()), config.login
    )


def _compared(plan: Plan, config: LinkConfig, source: Admin, target: Admin) -> Plan:
    ledger_notes, no_ledger = ledger(target, len(target.cluster.brokers()))
    books, of_others = _books(config, source, target) if not no_ledger else (None, ())
    known = books or LinkBooks(config.link)
    found = differences(
        config, source, target, known, lambda: caught_up(status(config, known, source, target))
    )
    checked = narrowed(found.topics.steps, target)
    missing = {step.source for step, _ in checked.refused if isinstance(step, CreateTopic)}
    fill, without_markers = markers(config, target)
    told = _foretold(config, source, target, books, found, fill) if books else Forecast()
    full = Forecast.of(room(config, source, target, found))
    return replace(
        plan,
        topics={name: copy for name, copy in found.topics.topics.items() if name not in missing},
        steps=ordered((*checked.possible, *found.access.steps)),
        notes=(
            *ledger_notes,
            *unmatched_expressions(found.observed, config),
            *found.notes,
            *without_markers,
            *told.notes,
            *full.notes,
        ),
        obstacles=(
            *old_target(target.cluster.api_versions()),
            *no_ledger,
            *of_others,
            *found.obstacles,
            *checked.obstacles,
            *(Obstacle.of(error, step.source) for step, error in checked.refused),
            *told.obstacles,
            *full.obstacles,
        ),
    )


def _books(
    config: LinkConfig, source: Admin, target: Admin
) -> tuple[LinkBooks | None, tuple[Obstacle, ...]]:
    """Look into the ledger; it may belong to other clusters."""
    with Client(config.target, Side.TARGET, target) as client:
        books = Ledger(target, client).books(config.link, runs=False)
    try:
        books.check_clusters(source.cluster.id(), target.cluster.id())
    except LedgerError as error:
        return None, (Obstacle("link", str(error), Cause.CLUSTER),)
    return books, ()


def _foretold(
    config: LinkConfig, source: Admin, target: Admin, books: LinkBooks, found: Differences,
    fill: int,
) -> Forecast:  # fmt: skip
    try:
        return forecast(config, source, target, books, found.observed, found.topics, fill)
    except ClusterError as error:
        # A partition without a leader, say, is no reason to refuse the others.
        text = f"{error}; so it is not known yet where new partitions begin"
        return Forecast(notes=(Note("partitions", text),))
