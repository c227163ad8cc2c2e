"""What a soak is asked to do."""

from __future__ import annotations

import argparse
import random
import re
from dataclasses import dataclass
from pathlib import Path

from bench.pages import RESULTS

PROFILES = ("cpu", "memory", "heap")
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of a soak.

    Attributes:
        topics: Number of topics.
        partitions: Of each topic.
        rate: Records per second, altogether.
        seconds: How long producers write.
        seed: Of the faults and of the records.
        calm: Whether there are no faults.
        limit: MiB per hour by which the memory of a role may rise.
        profile: What is profiled, "" for nothing.
        out: Folder of the page.
        home: Folder for the data, removed at the end.
    """

    topics: int
    partitions: int
    rate: int
    seconds: int
    seed: int
    calm: bool
    limit: float
    profile: str
    out: Path
    home: Path | None


def seconds(text: str) -> int:
    """Return a duration such as `90s`, `3m` or `1h` in seconds."""
    found = re.fullmatch(r"(\d+)([smh]?)", text)
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"'{text}' is no duration; say 90s, 3m or 1h")
    return int(found[1]) * _UNITS[found[2] or "s"]


def wish() -> Wish:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="scripts/soak", description="A link under sustained load and faults, proven at the end"
    )
    parser.add_argument("--topics", type=_positive, default=20)
    parser.add_argument("--partitions", type=_positive, default=3, help="of each topic")
    parser.add_argument("--rate", type=_positive, default=2000, help="records a second, altogether")
    parser.add_argument("--for", dest="seconds", type=seconds, default="10m", metavar="DURATION",
                        help="how long producers write, such as 3m or 1h")  # fmt: skip
    parser.add_argument("--seed", type=int, help="of faults and records; a random one by default")
    parser.add_argument("--calm", action="store_true", help="no faults")
    parser.add_argument("--limit", type=float, default=50.0,
                        help="MiB an hour by which the memory of a role may rise")  # fmt: skip
    parser.add_argument("--profile", choices=PROFILES, default="",
                        help="profiles beside the page; CPU needs py-spy")  # fmt: skip
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the page")
    parser.add_argument("--home", type=Path, help="folder for the data, removed at the end")
    said = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 31) if said.seed is None else said.seed
    return Wish(**{**vars(said), "seed": seed})


def _positive(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if not number:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive number")
    return number
