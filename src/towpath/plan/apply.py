"""`towpath apply`: apply the steps of a plan."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, replace

from towpath.ledger.link import OpenLink, open_link
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.plan.applier import Applied, Applier, Told
from towpath.plan.journal import JournalWriter
from towpath.plan.lease import Lease
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.review import Review
from towpath.plan.subjects import Subjects
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """A plan, and the selection of steps to apply.

    Attributes:
        config: The link's configuration.
        plan: The plan.
        digest: The digest of a saved plan; empty for a plan that was made just now.
        only: The subjects whose steps are done; `None` for all.
    """

    config: LinkConfig
    plan: Plan
    digest: str = ""
    only: Collection[str] | None = None

    def narrowed(self) -> Plan:
        """Return the plan with only the steps of the requested subjects."""
        if self.only is None:
            return self.plan
        steps = tuple(step for step in self.plan.steps if step.subject in self.only)
        return replace(self.plan, steps=steps)


def apply(
    wanted: ApplyRequest, subjects: Subjects, on_step: Told, stop: threading.Event
) -> Applied:
    """Apply a plan; a step is skipped if the target has changed since the planning.

    Args:
        wanted: The plan.
        subjects: All subjects.
        on_step: Called after each step.
        stop: Set to end early, after the current batch of steps.

    Raises:
        ClusterError: A cluster cannot be used, or the journal cannot be written.
        ConfigError: The plan was made for other clusters.
        LedgerError: The link joins other clusters.
        LinkHeldError: Another process changes the target for the link now.
    """
    with open_link(wanted.config) as link, subjects.open(link) as clients:
        require_clusters(wanted.plan, link)
        link.prepare()
        with Lease(link, "apply") as lease:
            link.read()
            steps = wanted.narrowed().steps
            applier = Applier(
                clients,
                JournalWriter(link, clients, wanted.digest),
                on_step=on_step,
                stop=stop,
                require=Review(clients, steps, saved=bool(wanted.digest)).require,
                hold=lease.require,
            )
            applied = applier.apply(steps)
            applied.takeover = lease.takeover
            return applied


def require_clusters(plan: Plan, link: OpenLink) -> None:
    """Raise if a plan was made for other clusters.

    Raises:
        ConfigError: It was.
    """
    problems = [
        ConfigProblem(
            side,
            f"the plan was made for cluster {facts.id}, but {', '.join(where.bootstrap)} is"
            f" cluster {now} now; make the plan again",
        )
        for side, facts, where, now in (
            ("source", plan.source, link.config.source, link.source.cluster.id()),
            ("target", plan.target, link.config.target, link.target.cluster.id()),
        )
        if isinstance(facts, ClusterFacts) and facts.id != now
    ]
    if problems:
        raise ConfigError(tuple(problems))
