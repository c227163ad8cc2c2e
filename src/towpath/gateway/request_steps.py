"""The possible next steps for a client's request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from towpath.gateway.recoding import Change
from towpath.gateway.routes import BrokerPlace

Joined = Callable[[Sequence["bytes | bytearray | None"]], bytes]
"""Makes one answer of those of brokers; `None` stands for one that did not come."""


class Sent(NamedTuple):
    """A request that is relayed to a broker.

    Attributes:
        place: Where it goes.
        frame: The request.
        change: What changes its answer, `None` if it passes as it is.
        writes: Whether a promotion has to wait for its answer.
    """

    place: BrokerPlace
    frame: bytes | bytearray
    change: Change | None
    writes: bool = False

    def changed(self, change: Change) -> Sent:
        """Return this request with its answer changed once more."""
        before = self.change

        def both(frame: bytearray, version: int) -> bytes | bytearray:
            return change(frame if before is None else bytearray(before(frame, version)), version)

        return self._replace(change=both)


class RequestStep(NamedTuple):
    """The next step for a client's request.

    Attributes:
        own: The gateway's own answer, `None` if brokers answer.
        sends: What goes to brokers.
        join: Makes one answer of theirs, `None` where there is one that passes.
        silent: Whether the client expects no answer.
        last: Whether the connection ends behind the answer.
    """

    own: bytes | None = None
    sends: tuple[Sent, ...] = ()
    join: Joined | None = None
    silent: bool = False
    last: bool = False

    def changed(self, change: Change) -> RequestStep:
        """Return this step with the answers of brokers changed once more."""
        return self._replace(sends=tuple(each.changed(change) for each in self.sends))
