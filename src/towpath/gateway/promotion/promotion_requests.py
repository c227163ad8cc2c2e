"""Requests to promote or revert topics, sent to a gateway through the ledger.

The command may be killed at any moment: the gateway goes on by itself. So may the gateway be: the
next one tells what became of the request.
"""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from towpath.ledger.alive import is_gone, this_host, this_space
from towpath.ledger.entries import (
    GROUPS_LEVEL,
    REVERT_LEVEL,
    GatewaySign,
    Promotion,
    PromotionStage,
)
from towpath.ledger.ledger import FACTS
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, ConfigError, ConfigProblem, LedgerError
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.runtime.user import this_user

_ANSWER = 15.0
"""Seconds within which a gateway takes a request."""
_THROTTLED = 30.0
"""Seconds for which a target that throttles this command is waited for, before and after a gateway
has its request: a promotion would fail by it."""
_LOOK = 0.2
_AGAIN = 1.0
_TROUBLE = 60.0
"""Seconds for which the ledger may be out of reach while a gateway works on a request."""
_SILENT = 120.0
"""Seconds without a word of the gateway after which whoever waits is told where to look."""
_NO_WORD = (
    "no word of the gateway for two minutes; its log tells why. Ctrl-C ends this command alone"
)
_UNSEEN = (
    "what became of the request cannot be seen; the gateway goes on by itself, and `towpath history"
    " FILE` tells it once the target answers"
)
_OPEN = frozenset({PromotionStage.ASKED.value, PromotionStage.RUNNING.value})


def ask(
    link: OpenLink,
    topics: Sequence[TopicName],
    stop: threading.Event,
    *,
    dry_run: bool,
    back: bool = False,
    gone: str = "",
    groups: Sequence[str] = (),
    told: Callable[[str], object] = lambda _: None,
) -> Promotion:
    """Ask the gateway of a link to move topics, and wait for its answer.

    Args:
        link: The link.
        topics: The topics, none for all.
        stop: Set when it is not waited for any longer.
        dry_run: Nothing is to be changed.
        back: The topics are to go back to the source.
        groups: Groups that are to be promoted without their topics.
        gone: The name of a gateway that was killed, "" for none.
        told: Called with each step that is reached.

    Returns:
        The request: still `asked` if no gateway took it, `running` if `stop` was set.

    Raises:
        ClusterError: The target does not answer.
        ConfigError: There is no such gateway, or it has not ended.
        LedgerError: The target has no ledger yet.
    """
    require_ledger(link)
    if gone:
        _bury(link, gone)
    if back:
        link.raise_level(REVERT_LEVEL)  # an older gateway would promote
    if groups:
        link.raise_level(GROUPS_LEVEL)  # an older gateway would move all topics
    asked = Promotion(
        link=link.name,
        name=uuid.uuid4().hex[:16],
        state=PromotionStage.ASKED.value,
        topics=tuple(topics),
        dry_run=dry_run,
        back=back,
        user=this_user(),
        host=this_host(),
        at=now_ms(),
        groups=tuple(groups),
    )
    try:
        link.ledger.append([asked])
        return _followed(link, asked, stop, Deadline.after(_ANSWER), told)
    finally:
        link.ledger.wait_until(None)  # whoever copies the rest has more time


def require_ledger(link: OpenLink) -> None:
    """Read the ledger; raise if there is none.

    Raises:
        ClusterError: The target does not answer, or throttles this command for too long.
        LedgerError: The target has no ledger yet.
    """
    link.ledger.wait_until(Deadline.after(_THROTTLED))
    link.look()
    if not link.ledger.usable():
        raise LedgerError(
            f"the target has no ledger, so no gateway of link {link.name} ever began; start"
            " `towpath gateway FILE`, or check the address of the target in the file"
        )


def _bury(link: OpenLink, name: str) -> None:
    """Tell that a gateway serves nobody any more, which could not tell it itself.

    Raises:
        ConfigError: There is none of this name, or it runs on this machine.
    """
    entries = link.ledger.another().read(
        FACTS, wanted=lambda key: key[:2] == (GatewaySign.kind, link.name)
    )
    signs = {each.name: each for each in entries if isinstance(each, GatewaySign)}
    found = signs.get(name)
    why = f"the ledger knows no gateway named {name!r}; `towpath promote FILE --dry-run` names them"
    if found is not None:
        here = found.host == this_host() and found.space == this_space() and not is_gone(found)
        why = f"that gateway runs on this machine as pid {found.pid}; stop it" if here else ""
    if found is None or why:
        raise ConfigError((ConfigProblem("--gone", why),))
    link.ledger.append([replace(found, over=True)])


def _followed(
    link: OpenLink,
    found: Promotion,
    stop: threading.Event,
    patience: Deadline,
    told: Callable[[str], object] = lambda _: None,
) -> Promotion:
    """Return what becomes of a request; a gateway has to take it within some time.

    Raises:
        ClusterError: The ledger cannot be read; the gateway may go on all the same.
    """
    trouble, silent = Deadline.after(_TROUBLE), Deadline.after(_SILENT)
    while found.state in _OPEN and not stop.is_set():
        before = len(found.steps)
        if silent.over:
            told(_NO_WORD)
            silent = Deadline.after(math.inf)
        link.ledger.wait_until(Deadline.after(_THROTTLED))
        try:
            found = next(reversed(_new(link, found, _LOOK)), found)
        except ClusterError:
            if found.state == PromotionStage.ASKED.value or trouble.over:
                told(_UNSEEN)
                raise
            stop.wait(_AGAIN)
            continue
        trouble = Deadline.after(_TROUBLE)
        for each in found.steps[before:]:
            told(each.step)
            silent = Deadline.after(_SILENT)
        if found.state == PromotionStage.ASKED.value and patience.over:
            break
    return found


def withdraw(link: OpenLink, asked: Promotion, stop: threading.Event) -> Promotion:
    """Withdraw a request that no gateway has accepted yet.

    A gateway may take it at the same moment: what is first in the ledger holds. Where that is the
    gateway's word, its answer is waited for.
    """
    throttled = round(link.ledger.throttled)
    why = Reason.of(ReasonCode.PROMOTE_NO_GATEWAY)
    if throttled:
        why = Reason.of(ReasonCode.PROMOTE_NO_GATEWAY, throttled=throttled)
    undone = replace(asked, state=PromotionStage.UNDONE.value, reasons=(why,))
    link.ledger.wait_until(Deadline.after(_THROTTLED))
    link.ledger.append([undone])
    new = [each for each in _new(link, asked, 0.0) if each.state != PromotionStage.ASKED]
    if not new or not new[0].gateway:
        return undone
    found = next((each for each in reversed(new) if each.gateway), undone)
    return _followed(link, found, stop, Deadline.after(_ANSWER))


def _new(link: OpenLink, asked: Promotion, wait: float) -> list[Promotion]:
    """Return what was written of a request since the last look, in its order."""
    wanted = Promotion.kind, link.name, (asked.name,)
    new = link.ledger.read(FACTS, wait=wait, wanted=lambda key: key == wanted)
    return [each for each in new if isinstance(each, Promotion)]
