"""The base of all steps of a migration, forwards and back.

A new step is one file beside this one, and the place in `decide/` that plans it. The file has all
of it: the sentence for people, what will be seen behind each effect, what is done, and the commands
with which somebody does it by hand. Each step is safe to be done again, since an orchestrator may
be killed in the middle of it: it is planned from what is seen, and knows nothing of earlier steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.files.configs import Properties
from towpath.kraft.findings.findings import Refused
from towpath.kraft.journal import KraftEvent
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.steps.elections import by_itself


class KraftStep(ABC):
    """Base of a step of a migration: a frozen value with its effects and its execution.

    Attributes:
        stops_broker: Whether it stops a broker, which must start again behind it.
        brings_broker_back: Whether a broker serves again behind it, to which clients come back.
        starts: The controllers that the step starts.
        finalizes: Whether nothing leads back for sure once it has begun.
    """

    __slots__ = ()
    stops_broker: ClassVar[bool] = False
    brings_broker_back: ClassVar[bool] = False

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The step as a sentence for people, such as `restart broker 1 in migration mode`."""

    @abstractmethod
    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield the observation after each effect of the step, where it may be interrupted.

        Where that must be guessed, it is what happens in a cluster without faults: who is elected
        is the running voter with the lowest id.
        """

    @abstractmethod
    def do(self, tools: Tools) -> StepFacts:
        """Do the step to its end, and return its facts for the journal.

        Raises:
            StepStoppedError: The user asked to end, and the step was waiting.
            StepLateError: What the step waits for did not come in time.
            NodeEndedError: A node ended by itself.
            StepRefusedError: The step would destroy something.
            DriverError: A node's host refused.
            ZooKeeperError: ZooKeeper refused, or holds something else than the step expects.
            ClusterError: The brokers refused the probe topic.
        """

    @property
    def starts(self) -> tuple[NodeId, ...]:
        """The controllers that the step starts."""
        return ()

    @property
    def finalizes(self) -> bool:
        """Whether any election may finalize the migration once the step has begun."""
        return False

    def after(self, config: KraftConfig, seen: Observation) -> Observation:
        """Return the observation after the whole step, and after what follows by itself."""
        return by_itself([seen, *self.effects(config, seen)][-1])

    def proof(self, seen: Observation) -> tuple[KraftEvent, Mapping[str, object]] | None:
        """Return the journal entry for a fact that the step proves, else `None`.

        Args:
            seen: What was seen before it.
        """
        del seen
        return None

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return the commands for doing the step by hand, and the pods held afterwards.

        Args:
            book: The commands of `kubectl`.
            held: The pods that are held back before it.

        Raises:
            StepRefusedError: Its properties cannot be made, or no broker has a pod to learn from.
            DriverError: Another field manager keeps what would be changed.
        """
        del book
        return [], held


@dataclass(frozen=True, slots=True)
class WritingStep(KraftStep):
    """A step that writes the properties file of a node.

    Attributes:
        node: The node.
    """

    node: NodeId

    @abstractmethod
    def properties(self, config: KraftConfig, seen: Observation) -> Properties | Refused:
        """Return the properties of the file after the step, or why they cannot be made."""

    def required(self, config: KraftConfig, seen: Observation) -> Properties:
        """Return the properties of the file after the step.

        Raises:
            StepRefusedError: They cannot be made.
        """
        made = self.properties(config, seen)
        if isinstance(made, Refused):
            why = "; ".join(str(each) for each in made.reasons)
            raise StepRefusedError(type(self).__name__, why)
        return made

    def foreseen(self, config: KraftConfig, seen: Observation) -> Properties:
        """Return the properties of the file after the step, empty if they cannot be made."""
        made = self.properties(config, seen)
        return {} if isinstance(made, Refused) else made
