"""The journal of a migration, a local file of approved steps, results and proofs.

No decision about what a cluster is rests on it. A journal that was lost costs history, and the
time to prove again what only doing can prove.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, BinaryIO

from towpath.kraft.errors import JournalHeldError, KraftJournalError
from towpath.kraft.facts.nouns import PROBES, Stage
from towpath.kraft.facts.seen import Proven
from towpath.runtime.clock import now_ms
from towpath.runtime.durable import make_folder, sync_folder

_FILE = "journal.jsonl"
_KEPT = "kept"
_LOCK = "lock"


class KraftEvent(StrEnum):
    """The kinds of journal entries."""

    CLUSTER = "cluster"
    RUN_BEGAN = "run_began"
    RUN_ENDED = "run_ended"
    APPROVED = "approved"
    STAGE = "stage"
    STEP_BEGAN = "step_began"
    STEP_DONE = "step_done"
    STEP_FAILED = "step_failed"
    COMPARED = "compared"
    PROBE_NAMED = "probe_named"
    PROBE_GONE = "probe_gone"
    PROBED = "probed"
    STOPPED = "stopped"
    STARTED = "started"
    FINALIZING = "finalizing"
    KEPT = "kept"
    DELETED = "deleted"
    TAKEN = "taken"


_LONGEST = 180
"""Bytes of a path in the name of a kept file."""
_LAST = 253_402_300_800_000
"""The end of the year 9999, in ms since 1970."""

_BEGINNING = frozenset({Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING, Stage.COPYING})
"""Stages behind which a migration begins: its quorum counts epochs from 1, as earlier ones did."""
_LEADERLESS = frozenset({Stage.HEADLESS, Stage.UNKNOWN})
"""Stages in which no controller is known to lead."""
_FINALIZES = _LEADERLESS | {Stage.FINALIZING}

_FACTS: Mapping[KraftEvent, Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {
        KraftEvent.RUN_ENDED: {"refused": (list,)},
        KraftEvent.STAGE: {"stage": (str,)},
        KraftEvent.APPROVED: {"goal": (str,), "by": (str,), "steps": (list,)},
        KraftEvent.STEP_DONE: {"what": (str,), "seconds": (int, float)},
        KraftEvent.STEP_FAILED: {"what": (str,)},
        KraftEvent.COMPARED: {
            "equal": (bool,), "compared": (dict,), "digests": (dict,), "differences": (list,)
        },
        KraftEvent.PROBE_NAMED: {"topic": (str,)},
        KraftEvent.PROBE_GONE: {"topic": (str,)},
        KraftEvent.PROBED: {"epoch": (int, NoneType)},
        KraftEvent.STOPPED: {"epoch": (int,)},
        KraftEvent.KEPT: {"node": (int,), "name": (str,), "file": (str,), "sha256": (str,)},
        KraftEvent.DELETED: {"znodes": (dict,)},
        KraftEvent.TAKEN: {"node": (int,), "what": (str,)},
    }
)  # fmt: skip
"""What entries must have, and of which types: others are no proof, and not ours."""


@dataclass(frozen=True, slots=True)
class KraftEntry:
    """One journal entry: time in ms since 1970, kind, and facts as in JSON."""

    at: int
    event: KraftEvent
    facts: Mapping[str, Any]


class KraftJournal:
    """A journal file with one JSON object per line, each synced to disk before the next action.

    Args:
        folder: Where it lies; made by the first entry, readable for its owner alone, as
            originals of properties are kept there.

    Every method raises `KraftJournalError` where the folder or a file in it cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, event: KraftEvent, **facts: object) -> None:
        """Write an entry, and sync it to disk."""
        entry = {"at": now_ms(), "event": event, **facts}
        try:
            self._begin()
            _append(self._file, f"{json.dumps(entry)}\n".encode())
        except OSError as error:
            raise KraftJournalError(str(self._file), error.strerror or "not written") from error

    def belong_to(self, cluster: str) -> None:
        """Record the cluster of the journal once; proofs of another cluster are worthless.

        Args:
            cluster: The id of the cluster that is being worked on.

        Raises:
            KraftJournalError: The history is that of another cluster, or it cannot be written.
        """
        told = self.entries()
        known = [each.facts.get("id") for each in told if each.event is KraftEvent.CLUSTER]
        if not known:
            self.add(KraftEvent.CLUSTER, id=cluster)
        elif known[0] != cluster:
            why = f"it is the history of cluster {known[0]}, and this is cluster {cluster}"
            raise KraftJournalError(str(self._file), why)

    def keep(self, node: int, path: str, data: bytes) -> str:
        """Save a node's file as it is now, and return the copy's name in `kept`.

        So the file is for its owner alone, and the entry has its digest and nothing of it. One that
        was kept last with the same content is not kept again.

        Args:
            node: The node.
            path: The path on the node's host.
            data: The content.
        """
        digest = hashlib.sha256(data).hexdigest()
        folder = self.folder / _KEPT
        try:
            last = self._last_kept(node, path)
            if last is not None and last["sha256"] == digest:
                return str(last["file"])
            self._begin()
            make_folder(folder, mode=0o700)
            kept = folder / f"{time.time_ns()}-{node}-{_short(path)}"
            _write_for_owner(kept, data)
        except OSError as error:
            raise KraftJournalError(str(folder), error.strerror or "not written") from error
        self.add(KraftEvent.KEPT, node=node, name=path, file=kept.name, sha256=digest)
        return kept.name

    def _last_kept(self, node: int, path: str) -> Mapping[str, Any] | None:
        kept = [each.facts for each in self.entries() if each.event is KraftEvent.KEPT]
        of_file = [each for each in kept if (each.get("node"), each.get("name")) == (node, path)]
        there = (
            each for each in reversed(of_file) if (self.folder / _KEPT / each["file"]).exists()
        )
        return next(there, None)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the journal against other processes of this machine.

        Raises:
            JournalHeldError: Another process holds it.
            KraftJournalError: The folder cannot be used.
        """
        lock = self.folder / _LOCK
        try:
            self._begin()
            file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise KraftJournalError(str(lock), error.strerror or "not opened") from error
        try:
            _lock(file, lock)
            yield
        finally:
            os.close(file)

    def entries(self) -> tuple[KraftEntry, ...]:
        """Return all readable entries, in order; incomplete or unknown lines are left out."""
        return tuple(entry for entry in self._read() if entry is not None)

    @property
    def probes(self) -> tuple[str, ...]:
        """The probe topics that may have been created and are not known to be deleted."""
        left: dict[str, None] = {}
        for entry in self.entries():
            match entry.event:
                case KraftEvent.PROBE_NAMED if entry.facts["topic"].startswith(PROBES):
                    left[entry.facts["topic"]] = None
                case KraftEvent.PROBE_GONE:
                    left.pop(entry.facts["topic"], None)
                case _:
                    pass
        return tuple(left)

    @property
    def proven(self) -> Proven:
        """The facts that steps have proven so far.

        A line that cannot be read may have taken a proof back, so nothing before it is one. An
        entry of a time that has not come yet, of a clock that was ahead, tells no duration.
        """
        probed: int | None = None
        stopped: int | None = None
        since: int | None = None
        finalizing = final = False
        now = now_ms()
        for entry in self._read():
            if entry is None:
                probed = stopped = since = None
                finalizing = False
                continue
            match entry.event:
                case KraftEvent.PROBED:
                    probed = entry.facts.get("epoch")
                case KraftEvent.STOPPED:
                    stopped, since = entry.facts.get("epoch"), None
                case KraftEvent.STARTED:
                    stopped = None
                case KraftEvent.FINALIZING:
                    finalizing = True
                case KraftEvent.STAGE:
                    stage = entry.facts["stage"]
                    finalizing = finalizing and stage in _FINALIZES
                    # A cluster in KRaft mode never goes back, so unknown stages keep it.
                    final = stage == Stage.FINAL or (final and stage == Stage.UNKNOWN)
                    stopped = stopped if stage in _LEADERLESS else None
                    probed, since = (None, None) if stage in _BEGINNING else (probed, since)
                    since = None if stage == Stage.FINAL else since  # ZooKeeper grows old
                case KraftEvent.COMPARED if entry.facts["equal"] and since is None:
                    since = entry.at if entry.at <= now else None
                case KraftEvent.COMPARED if not entry.facts["equal"]:
                    since = None
                case _:
                    pass
        return Proven(
            probed=probed, stopped=stopped, equal_since=since, finalizing=finalizing, final=final
        )

    @property
    def _file(self) -> Path:
        return self.folder / _FILE

    def _begin(self) -> None:
        """Make the folder, and end a line that a kill cut off, so that an entry begins a line."""
        make_folder(self.folder, mode=0o700)
        if self._file.exists() and not _ends_a_line(self._file):
            with self._file.open("ab") as file:
                file.write(b"\n")

    def _read(self) -> Iterator[KraftEntry | None]:
        """Yield the entry of each line, None for a line that cannot be read."""
        try:
            lines = self._file.read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise KraftJournalError(str(self._file), error.strerror or "not read") from error
        yield from map(_entry, lines)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalHeldError(str(path)) from None


def _entry(line: str) -> KraftEntry | None:
    """Return the entry of a line; None where a kill cut it off, or somebody else wrote it."""
    try:
        told = json.loads(line)
        entry = KraftEntry(told.pop("at"), KraftEvent(told.pop("event")), told)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    facts = _FACTS.get(entry.event, {})
    fits = all(type(told.get(name)) in kinds for name, kinds in facts.items())
    return entry if fits and type(entry.at) is int and 0 <= entry.at < _LAST else None


def _append(path: Path, line: bytes) -> None:
    """Write a line at the end of a file, or nothing of it; it is on disk when this returns."""
    is_new = not path.exists()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            _write_all(file, line)
        except OSError:
            with suppress(OSError):
                file.truncate(before)
            raise
    if is_new:
        sync_folder(path.parent)


def _write_for_owner(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0) as file:
            _write_all(file, data)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def _write_all(file: BinaryIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
    os.fsync(file.fileno())


def _short(path: str) -> str:
    """Return the end of a path as a part of a name; names of files have 255 bytes at most."""
    return path.strip("/").replace("/", "_").encode()[-_LONGEST:].decode(errors="ignore")


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
