"""Requests to promote, for whoever asks: through the ledger, as gateways may be elsewhere.

The command may be killed at any moment: the gateway goes on by itself. So may the gateway be: the
next one tells what became of the request.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import replace

from towpath.ledger.alive import this_host
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.ledger.ledger import FACTS
from towpath.ledger.link import OpenLink
from towpath.model.nouns import TopicName
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.runtime.user import this_user

_ANSWER = 15.0
"""Seconds within which a gateway takes a request."""
_LOOK = 0.2
_OPEN = frozenset({PromotionStage.ASKED.value, PromotionStage.RUNNING.value})


def ask(
    link: OpenLink, topics: Sequence[TopicName], stop: threading.Event, *, dry_run: bool
) -> Promotion:
    """Ask the gateway of a link, and wait for what it says.

    Returns:
        The request: still `asked` if no gateway took it, `running` if `stop` was set.

    Raises:
        ClusterError: The target does not answer.
        LedgerError: The link has no ledger yet: it never ran.
    """
    link.look()
    asked = Promotion(
        link=link.name,
        name=uuid.uuid4().hex[:16],
        state=PromotionStage.ASKED.value,
        topics=tuple(topics),
        dry_run=dry_run,
        user=this_user(),
        host=this_host(),
        at=now_ms(),
    )
    link.ledger.append([asked])
    patience = Deadline.after(_ANSWER)
    found = asked
    while found.state in _OPEN and not stop.is_set():
        found = _newest(link, found)
        if found.state == PromotionStage.ASKED.value and patience.over:
            break
    return found


def withdraw(link: OpenLink, asked: Promotion) -> Promotion:
    """Take a request back that no gateway has taken."""
    why = "no gateway of the link took the request; does `towpath gateway FILE` run?"
    undone = replace(asked, state=PromotionStage.UNDONE.value, told=(why,))
    link.ledger.append([undone])
    return undone


def _newest(link: OpenLink, asked: Promotion) -> Promotion:
    wanted = Promotion.kind, link.name, (asked.name,)
    new = link.ledger.read(FACTS, wait=_LOOK, wanted=lambda key: key == wanted)
    found = [each for each in new if isinstance(each, Promotion)]
    return found[-1] if found else asked
