"""What clients of other makers print, and what they are told."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from towpath.runtime.clock import now_ms


@dataclass
class Told:
    """The arguments of such a program, and what becomes of it.

    Attributes:
        kind: `write` or `read`.
        name: The number of the producer, or the group.
        topic: The topic.
        configs: Configs of the client, by its own names.
        over: Whether it shall end.
    """

    kind: str
    name: str
    topic: str
    configs: dict[str, Any]
    over: threading.Event = field(default_factory=threading.Event)
    _longest: float = 0.0

    @classmethod
    def begin(cls) -> Told:
        """Read the arguments; numbers and words are JSON, all else is text."""
        kind, name, topic, *rest = sys.argv[1:]
        pairs = (each.partition("=") for each in rest)
        made = cls(kind, name, topic, {key: _value(text) for key, _, text in pairs})
        threading.Thread(target=made._wait, daemon=True).start()
        return made

    def value(self, number: int) -> bytes:
        """Return the value of a record."""
        return f"{self.name} {number}".encode()

    def failed(self, error: object) -> None:
        """Tell what an application is told."""
        print("FAILED", repr(error), flush=True)  # noqa: T201

    def acknowledged(self, begun: float) -> None:
        """Note that a record was sent, and when."""
        self._longest = max(self._longest, time.monotonic() - begun)

    def read(self, partition: int, offset: int) -> None:
        """Tell of a record that was read."""
        print("READ", partition, offset, now_ms(), flush=True)  # noqa: T201

    def end(self, sent: int | None = None) -> None:
        """Tell the figures at the end."""
        if sent is not None:
            print("SENT", sent)  # noqa: T201
        print("LONGEST", round(1000 * self._longest))  # noqa: T201
        print("ENDED", flush=True)  # noqa: T201

    def _wait(self) -> None:
        sys.stdin.read()
        self.over.set()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
