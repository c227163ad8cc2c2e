"""The configs of groups and client metrics that the link has set on the target. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towpath.group_configs.steps import KINDS, SUBJECTS, RemoveHolderConfig, SetHolderConfig
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Phase
from towpath.model.holders import ConfigHolder


@dataclass(frozen=True, slots=True)
class OwnedConfig:
    """A config that the link has set on the target where none was set before.

    Attributes:
        holder: What has it.
        source: The name at the source.
        name: The name on the target.
        key: The config.
    """

    holder: ConfigHolder
    source: str
    name: str
    key: str


def ours_of(books: LinkBooks) -> frozenset[OwnedConfig]:
    """Return the configs that the link has set and not reset, by its journal.

    What was only begun counts: nothing on the target tells whether the step was done.
    """
    ours: dict[tuple[str, str], OwnedConfig] = {}
    for subject, about, step, owned, done in _steps(books):
        if isinstance(step, SetHolderConfig) and owned:
            ours[subject, about] = OwnedConfig(step.holder, step.source, step.name, step.key)
        elif isinstance(step, RemoveHolderConfig) and done:
            ours.pop((subject, about), None)
    return frozenset(ours.values())


def _steps(
    books: LinkBooks,
) -> Iterator[tuple[str, str, SetHolderConfig | RemoveHolderConfig, bool, bool]]:
    # The order is that of the journal, as the clocks of machines differ.
    for entry in books.journal.values():
        if entry.subject in SUBJECTS.values() and entry.do in KINDS:
            step = KINDS.from_data(entry.step, "ledger")
            yield entry.subject, entry.name, step, entry.owned, entry.phase is Phase.DONE
