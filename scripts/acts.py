"""What demos with real clusters share: headings, commands, conditions, and counts of records."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from towpath.dev.broker import LocalCluster

PATIENCE = 40.0
"""Seconds without progress after which something is wrong."""


@contextmanager
def two_clusters(folder: Path) -> Iterator[tuple[LocalCluster, LocalCluster]]:
    """Start a source and a target in a folder, until the block ends."""
    folder.mkdir(parents=True)
    step("Two Kafka clusters (the first time, their jars are fetched)")
    source, target = (LocalCluster(home=folder / side) for side in ("source", "target"))
    with source, target:
        yield source, target


def same(what: str, found: Counter[bytes], wanted: Counter[bytes]) -> bool:
    """Say how many records were found, lost and doubled; return whether all is right."""
    lost, more = (wanted - found).total(), (found - wanted).total()
    say(f"{what}: {found.total():,} records, {lost} lost, {more} doubled or foreign")
    return not (lost or more)


@contextmanager
def mirror(file: Path) -> Iterator[psutil.Popen]:
    """Run a link until the block ends."""
    with going("run", file) as run:
        yield run


@contextmanager
def going(command: str, file: Path) -> Iterator[psutil.Popen]:
    """Let a command of a link run until the block ends."""
    run = psutil.Popen([sys.executable, "-m", "towpath", command, str(file)])
    try:
        yield run
    finally:
        if run.poll() is None:
            for each in [run, *run.children(recursive=True)]:
                each.resume()
            run.terminate()
        run.wait(PATIENCE)


def until(done: Callable[[], bool], what: str, run: psutil.Popen) -> None:
    """Wait for a condition while a process lives."""
    end = time.monotonic() + PATIENCE
    while not done():
        if run.poll() is not None or time.monotonic() > end:
            sys.exit(f"waited in vain for {what}")
        time.sleep(0.2)


def towpath(*arguments: str | Path, codes: tuple[int, ...] = (0,)) -> None:
    """Run a command of towpath as a user would.

    Args:
        arguments: Its words.
        codes: The exit codes that belong to the story.
    """
    words = [sys.executable, "-m", "towpath", *map(str, arguments)]
    code = subprocess.run(words, check=False).returncode  # noqa: S603, words of ours
    if code not in codes:
        sys.exit(f"towpath {arguments[0]} ended with {code}")


def step(text: str) -> None:
    """Show a heading."""
    sys.stderr.write(f"\n== {text}\n")


def say(text: str) -> None:
    """Show a line."""
    sys.stderr.write(f"{text}\n")
