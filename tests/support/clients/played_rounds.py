"""What rounds of trouble came to: a line of a file for each, and tables of them.

`python -m tests.support.clients.played_rounds FILE..` prints the tables of the rounds in files.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

FAILED = "failed"
CLIENTS = ("classic", "cooperative", "consumer", "transactions")
_NUMBERS = re.compile(r" ?\b(?:(?:at|after|for|by) )?-?\d[\d.]*(?: s\b)?")
"""How often, when, for how long, at which write, and which of several."""


class Round(NamedTuple):
    """A round of trouble.

    Attributes:
        seed: Of which run.
        number: Which round of it.
        brokers: How many each cluster had.
        command: What moved topics.
        trouble: What happened meanwhile.
        clients: Who wrote and read: the protocol of members, or that they used transactions.
        outcomes: How each of the commands ended, until topics had moved.
        seconds: How long it took.
        load: The load of the machine behind it.
    """

    seed: int
    number: int
    brokers: int
    command: str
    trouble: str
    clients: str
    outcomes: str
    seconds: float
    load: float

    @property
    def kind(self) -> str:
        """The trouble without its numbers."""
        return re.sub(_NUMBERS, "", self.trouble).strip()

    def __str__(self) -> str:
        what = f"round {self.number}: {self.command}: {self.trouble} with {self.clients}"
        return f"{what}: {self.outcomes}, {self.seconds:.1f} s"


def keep(file: Path, played: Round) -> None:
    """Append a round to a file."""
    with file.open("a", newline="") as kept:
        csv.writer(kept, delimiter="\t", lineterminator="\n").writerow(played)


def kept_in(files: Iterable[Path]) -> list[Round]:
    """Return all rounds of files."""
    found = list[Round]()
    for each in files:
        with each.open(newline="") as kept:
            for row in csv.reader(kept, delimiter="\t"):
                seed, number, brokers, *words, seconds, load = row
                command, trouble, clients, outcomes = words
                about = command, trouble, clients, outcomes, float(seconds), float(load)
                found.append(Round(int(seed), int(number), int(brokers), *about))
    return found


def tables(rounds: Sequence[Round]) -> str:
    """Return the tables of rounds, in Markdown."""
    return "\n\n".join((_totals(rounds), _kinds(rounds), _outcomes(rounds), _seeds(rounds)))


def _totals(rounds: Sequence[Round]) -> str:
    failed = sum(each.outcomes == FAILED for each in rounds)
    least, most = (pick(each.load for each in rounds) for pick in (min, max))
    hours = sum(each.seconds for each in rounds) / 3600
    told = f"{len(rounds)} rounds in {hours:.1f} hours, {failed} failed"
    return f"{told}; load {least:.1f} to {most:.1f}."


def _kinds(rounds: Sequence[Round]) -> str:
    found = defaultdict[tuple[int, str, str], list[Round]](list)
    for each in rounds:
        found[each.brokers, each.kind, each.command].append(each)
    head = ("brokers", "trouble", "command", "rounds", *CLIENTS, "at once", "failed", "seconds, median", "at most")  # fmt: skip  # noqa: E501
    return _table(head, [(*about, *_summary(found[about])) for about in sorted(found)])


def _summary(rounds: Sequence[Round]) -> tuple[object, ...]:
    clients = Counter(each.clients for each in rounds)
    at_once = sum(each.outcomes in {"promoted", "reverted"} for each in rounds)
    failed = sum(each.outcomes == FAILED for each in rounds)
    seconds = [each.seconds for each in rounds]
    times = f"{median(seconds):.0f}", f"{max(seconds):.0f}"
    return len(rounds), *(clients[each] for each in CLIENTS), at_once, failed, *times


def _outcomes(rounds: Sequence[Round]) -> str:
    found = Counter(_shortened(each.outcomes) for each in rounds)
    return _table(("how commands ended", "rounds"), found.most_common())


def _shortened(outcomes: str) -> str:
    """Return outcomes with each that repeats the one before left out."""
    return re.sub(r"(\S+)( \1)+(?!\S)", r"\1 ..", outcomes)


def _seeds(rounds: Sequence[Round]) -> str:
    found = Counter((each.seed, each.brokers) for each in rounds)
    return _table(
        ("seed", "brokers", "rounds"), [(*about, found[about]) for about in sorted(found)]
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, each))} |" for each in lines)


if __name__ == "__main__":
    print(tables(kept_in(map(Path, sys.argv[1:]))))  # noqa: T201
