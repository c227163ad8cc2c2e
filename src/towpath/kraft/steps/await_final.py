"""The step that waits until the migration is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import Observation
from towpath.kraft.steps.elections import with_log
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class AwaitFinal(KraftStep):
    """Wait until the metadata log says that the migration is over."""

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return "wait until the metadata log says that the migration is over"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation whose metadata log says that the migration has ended."""
        del config
        yield with_log(seen, state=LogState.POST_MIGRATION)

    def do(self, tools: Tools) -> StepFacts:
        """Wait for the end of the migration in the metadata log."""
        return tools.wait("the migration is over in the metadata log", "copy", _not_final)


def _not_final(seen: Observation) -> str | None:
    if seen.log is None:
        return "the metadata log was not seen"
    state = seen.log.state
    return None if state is LogState.POST_MIGRATION else f"the metadata log says {state}"
