"""When other gateways were heard of, and which of them may still send something to brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from towpath.gateway.gateway_lease import BEAT, DOUBT, LEASE, elapsed, is_held
from towpath.ledger.alive import is_gone
from towpath.ledger.entries import GatewaySign

SILENT = LEASE + BEAT
"""Seconds without a sign of life after which a gateway that leads a promotion is lost."""


class Company:
    """Other gateways, by what was read of them, and when.

    Args:
        name: The name of this gateway.
        now: Tells the time, in seconds.
        ended: Whether the process of a gateway is known to have ended.
    """

    def __init__(
        self,
        name: str,
        now: Callable[[], float] = elapsed,
        ended: Callable[[GatewaySign], bool] = is_gone,
    ) -> None:
        self._name, self._now, self._ended = name, now, ended
        self._heard: dict[str, float] = {}
        self._lived = set[str]()
        self._gone: dict[str, float] = {}

    def heard(self, name: str) -> None:
        """Note that an entry of a gateway was read."""
        self._heard[name] = self._now()

    def silent(self, name: str) -> float:
        """Return for how many seconds nothing was heard of a gateway."""
        return self._now() - self._heard.setdefault(name, self._now())

    def living(self, signs: Iterable[GatewaySign]) -> list[GatewaySign]:
        """Return the gateways, but for this one, that are not known to have ended."""
        found = []
        for each in signs:
            if each.name == self._name:
                continue
            if not each.over and not self._ended(each):
                found.append(each)
                self._lived.add(each.name)
                self._gone.pop(each.name, None)
            elif each.name in self._lived:
                self._gone.setdefault(each.name, self._now())
        return found

    def ended_lately(self) -> set[str]:
        """Return gateways of which brokers may still get what they sent before they ended."""
        now = self._now()
        return {name for name, at in self._gone.items() if now - at < DOUBT}

    def is_held(self, name: str, *, joined: bool) -> bool:
        """Whether brokers get nothing more of a gateway that does not answer.

        Args:
            name: The gateway.
            joined: Whether its last word was that it takes part in a promotion.
        """
        at = self._gone.get(name)
        gone = None if at is None else self._now() - at
        return is_held(joined=joined, silent=self.silent(name), gone=gone)
