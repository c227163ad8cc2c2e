"""Clusters that start when a test first asks for one, once for all processes of a session."""

from __future__ import annotations

import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.support.clusters.brokers import SharedCluster
from towpath.dev.distribution import NEWEST, alone

T = TypeVar("T")


@dataclass
class Clusters:
    """The clusters of one test session, by name, and what else its processes share.

    What one process started the others find in `folder`. Nobody stops a cluster: the guard of the
    session kills what is left at its end.
    """

    folder: Path
    _known: dict[str, Any] = field(default_factory=dict)

    def get(
        self, name: str, version: str = NEWEST, brokers: int = 1, **options: Any
    ) -> SharedCluster:
        """Return the cluster of this name; start it when it is asked for the first time.

        Args:
            name: Its name; another version of the same name is another cluster.
            version: Kafka's version.
            brokers: How many.
            options: Further arguments of `SharedCluster`.
        """
        key = f"{name}-{version}"
        home = self.folder / key
        return self.once(key, lambda: SharedCluster(version, brokers, home=home, **options).start())

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` makes in the first process that asks; the others get it pickled.

        Raises:
            AssertionError: It failed before; nobody tries again.
        """
        if name not in self._known:
            with alone(self.folder / f"{name}.lock"):
                self._known[name] = pickle.loads(self._kept(name, make))  # noqa: S301 - ours
        made: T = self._known[name]
        return made

    def _kept(self, name: str, make: Callable[[], object]) -> bytes:
        kept, failed = (self.folder / f"{name}.{end}" for end in ("pickle", "failed"))
        assert not failed.exists(), f"{name} could not be made before: {failed.read_text()}"
        if not kept.exists():
            try:
                with untimed():
                    kept.write_bytes(pickle.dumps(make()))
            except BaseException as error:
                failed.write_text(str(error))
                raise
        return kept.read_bytes()


@contextmanager
def untimed() -> Iterator[None]:
    """Stop the clock of pytest-timeout: what all tests share is not charged to the first of them.

    A cold machine brings Kafka and a registry from afar, which may take minutes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    left, again = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, again)
