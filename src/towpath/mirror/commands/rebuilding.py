"""`towpath repair --ledger`: restore lost ledger entries about partitions."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.cli.confirming import confirmed
from towpath.cli.show.bar import Bar
from towpath.cli.show.output import console, line
from towpath.cli.signals import stopping
from towpath.mirror.repair.found import Outcome
from towpath.mirror.repair.rebuild import RebuildReport, RebuildRequest
from towpath.mirror.repair.rebuild import rebuild as rebuild_ledger
from towpath.mirror.show.repair_shapes import LedgerRepairJson
from towpath.mirror.verify.scope import Scope
from towpath.model.nouns import TopicName
from towpath.settings import LinkConfig

NOT_KNOWN = (
    "what only the ledger knew does not come back: pauses, limits and restarts, gaps and earlier"
    " differences, which mirror topics and configs this link made, where groups stood, and the"
    " decisions about schema ids; `towpath plan` says what it would do anew"
)


def rebuild(
    config: LinkConfig, topics: Sequence[TopicName], scope: Scope, *, yes: bool, dry_run: bool
) -> RebuildReport:
    """Find the positions of partitions, ask for confirmation, and write them to the ledger."""
    with stopping() as stop, Bar("comparing") as bar:

        def agreed(outcomes: tuple[Outcome, ...]) -> bool:
            with bar.away():
                said = [*map(str, outcomes), NOT_KNOWN]
                console(stderr=True).print(*map(line, said), sep="\n")
                return not dry_run and (
                    yes or confirmed("Write these to the ledger?", "to write what is above")
                )

        asked = RebuildRequest(tuple(topics), agreed, bar.done, stop, scope)
        return rebuild_ledger(config, asked)


def lines(found: RebuildReport) -> list[str]:
    """Return the sentences about a rebuilt ledger."""
    left = [f"not brought back: {each}" for each in found.left]
    if not found.outcomes:
        return ["the ledger lacks no partition that the target's logs tell of"]
    if not found.found:
        return [*left, "nothing could be brought back"]
    number = len(found.found)
    partitions = "1 partition" if number == 1 else f"{number} partitions"
    if not found.done:
        return [*left, f"nothing was written; {partitions} could be brought back"]
    rest = (
        "`towpath run` goes on as soon as the mirror topics of the others are gone"
        if left
        else "`towpath run` goes on where they stand"
    )
    return [*left, f"{partitions} brought back; {rest}"]


def report(link: str, found: RebuildReport) -> LedgerRepairJson:
    """Return the outcome as data for JSON."""
    return {
        "link": link,
        "complete": not found.left and (found.done or not found.found),
        "written": found.done,
        "found": [
            {
                "topic": each.orphan.source.topic,
                "partition": each.orphan.source.partition,
                "target": str(each.orphan.target),
                "end": each.orphan.end,
                "sequence": each.orphan.sequence,
                "generation": each.orphan.generation,
                "compared": each.compared,
            }
            for each in found.found
        ],
        "left": [
            {
                "topic": each.tp.topic,
                "partition": each.tp.partition,
                "cause": str(each.cause),
                "text": each.text,
            }
            for each in found.left
        ],
    }
