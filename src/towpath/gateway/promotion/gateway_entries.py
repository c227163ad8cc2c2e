"""What gateways wrote to the ledger, as far as it was read."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace

from towpath.gateway.promotion.company import SILENT, Company
from towpath.gateway.transaction_routes import MOST
from towpath.ledger.alive import is_gone
from towpath.ledger.entries import (
    TOGETHER,
    GatewayCall,
    GatewayReply,
    GatewaySign,
    LinkIdentity,
    Promoted,
    PromotedTopic,
    Promotion,
    PromotionStage,
    PromotionStep,
    ReadEntry,
    RelayedId,
    Removed,
    Unreadable,
)
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.runtime.clock import now_ms

_RELAYED = 86_400_000
"""Milliseconds for which it counts that an id came through a gateway: as long as brokers remember
producers by default."""
_IN_VAIN = 7_200_000
"""Milliseconds for which it counts that members were held in vain. A minute without a word is a
member's last by default; clocks of machines may be an hour apart."""
_NO_WORD = 120.0
"""Seconds after which a gateway counts as lost that works on a request and says nothing of it: it
looks at both clusters meanwhile, and holds nobody."""


def done_state(asked: Promotion) -> PromotionStage:
    """Return the state of a request that is done."""
    return PromotionStage.REVERTED if asked.back else PromotionStage.PROMOTED


class GatewayEntries:
    """What gateways wrote to the ledger, as far as it was read.

    Args:
        link: The link.

    Attributes:
        name: The name of this gateway.
        signs: The gateways that were heard of, by name.
        promoted: What moved to the target and back, by the name of the request, in its order; by
            gateways of this link, and of earlier ones between the same clusters.
        eras: How often topics went back to the source, through gateways of any link.
        replies: The last word of each other gateway that takes part in promotions.
        relayed: Transactional ids that came through gateways of this link.
    """

    def __init__(self, link: OpenLink) -> None:
        self._link = link
        self._asked: dict[str, Promotion] = {}
        self._running, self._withdrawn = set[str](), set[str]()
        self._sources: dict[LinkName, ClusterId] = {}
        self.name = uuid.uuid4().hex[:16]
        self.signs: dict[str, GatewaySign] = {}
        self.promoted: dict[str, Promoted] = {}
        self._elsewhere: dict[TopicName, Promoted] = {}
        self._is_asked = False
        self.eras: dict[TopicName, int] = {}
        self.replies: dict[str, GatewayReply] = {}
        self.relayed: dict[str, RelayedId] = {}
        self._answers: dict[tuple[str, str], GatewayReply] = {}
        self._company = Company(self.name)

    def take_in(self, entry: ReadEntry) -> None:
        """Take in an entry.

        Raises:
            LedgerError: A newer version wrote it.
        """
        match entry:
            case Unreadable():
                raise entry.error
            case LinkIdentity():
                self._sources.setdefault(entry.link, entry.source_cluster)
            case GatewaySign():
                self.signs[entry.name] = entry
                self._company.heard(entry.name)
            case GatewayReply():
                self.replies[entry.gateway] = entry
                self._answers[entry.gateway, entry.request] = entry
                self._company.heard(entry.gateway)
            case RelayedId():
                self.relayed[entry.id] = entry
            case Removed(kind=RelayedId.kind, key=(str(name),)):
                self.relayed.pop(name, None)
            case GatewayCall():
                self._company.heard(entry.leader)
            case Promotion():
                self._heard(entry)
                self._company.heard(entry.gateway)
            case Promoted():
                self.moved(entry)
            case _:
                pass

    def moved(self, record: Promoted) -> None:
        """Take in that topics or groups moved."""
        if self._concerns(record):
            self.promoted[record.name] = record
        else:
            self._elsewhere |= {each.topic: record for each in record.topics}
        for each in record.topics:
            era = each.era + record.back
            self.eras[each.topic] = max(era, self.eras.get(each.topic, 0))

    def _concerns(self, record: Promoted) -> bool:
        """Whether topics moved that clients of this gateway may use.

        After a way back the next link between the same clusters has another name, and its gateway
        goes on where the one before ended.
        """
        link = self._link
        if record.link == link.name:
            return True
        if not any(link.config.topics.matches(each.topic) for each in record.topics):
            return False
        return self._is_between_ours(record.link)

    def _is_between_ours(self, link: LinkName) -> bool:
        """Whether a link joins the clusters of this one, as far as that can be known."""
        ours = self._own_source()
        return ours is None or self._sources.get(link) in {None, ours}

    def _own_source(self) -> ClusterId | None:
        """Return the id of the source; it is asked once if the ledger does not have it."""
        name = self._link.name
        if name not in self._sources and not self._is_asked:
            self._is_asked = True  # one that is away is not waited for again
            with suppress(ClusterError):
                self._sources[name] = self._link.source.cluster.id()
        return self._sources.get(name)

    def _heard(self, asked: Promotion) -> None:
        """Take in a request, or what became of it; what was written first holds."""
        if asked.state == PromotionStage.RUNNING:
            self._running.add(asked.name)
        is_withdrawn = asked.state == PromotionStage.UNDONE and not asked.gateway
        if is_withdrawn and asked.name not in self._running:
            self._withdrawn.add(asked.name)
        self._asked[asked.name] = asked

    def held_in_vain(self) -> bool:
        """Whether a promotion was undone lately that held members of groups.

        Those of KIP-848 were told that they have nothing. The gateway that knows which of them may
        have ended since, before it told them to join anew.
        """
        undone = (each for each in self._asked.values() if each.state == PromotionStage.UNDONE)
        return any(
            abs(now_ms() - done.at) < _IN_VAIN and done.step != PromotionStep.BEGUN
            for each in filter(self.holds_members, undone)
            for done in each.steps
        )

    def holds_members(self, asked: Promotion) -> bool:
        """Whether a request holds members of groups back.

        Where clients read from the target, only one that goes back does.
        """
        section = self._link.config.gateway
        return asked.back or section is None or not section.reads_target

    def newest(self, asked: Promotion) -> Promotion:
        """Return a request with the steps that it has reached."""
        return replace(asked, steps=self._asked.get(asked.name, asked).steps)

    # What moved

    @property
    def of_others(self) -> dict[TopicName, Promoted]:
        """The last move of each topic that another link between the same clusters promoted.

        The file of this link does not have them. Those that went back are left out.
        """
        if not self._elsewhere:
            return {}
        ours = self._own_source()
        return {
            name: record
            for name, record in self._elsewhere.items()
            if not record.back and ours is not None and self._sources.get(record.link) == ours
        }

    def promoted_groups(self) -> set[str]:
        """Return the groups that the target serves, as far as the ledger was read."""
        found = set[str]()
        for record in self.promoted.values():
            found = found - {*record.groups} if record.back else found | {*record.groups}
        return found

    def groups_alone(self) -> set[str]:
        """Return the groups that moved before their topics, and did not go back."""
        found = set[str]()
        for record in self.promoted.values():
            if record.back:
                found -= {*record.groups}
            elif not record.topics:
                found |= {*record.groups}
        return found

    def relayed_lately(self) -> list[RelayedId]:
        """Return the transactional ids that came through gateways of this link within a day."""
        since = now_ms() - _RELAYED
        return [each for each in self.relayed.values() if each.at >= since]

    def relayed_old(self) -> list[RelayedId]:
        """Return the entries of transactional ids that count no longer, or are too many."""
        newest = sorted(self.relayed.values(), key=lambda each: each.at, reverse=True)
        since = now_ms() - 2 * _RELAYED  # clocks of gateways differ
        return [each for place, each in enumerate(newest) if place >= MOST or each.at < since]

    def last_moves(self) -> dict[TopicName, tuple[Promoted, PromotedTopic]]:
        """Return the last move of each topic."""
        return {
            each.topic: (record, each)
            for record in self.promoted.values()
            for each in record.topics
        }

    @property
    def has_left(self) -> bool:
        """Whether clients of any gateway of this link may have left for the target."""
        return any(each.left and each.link == self._link.name for each in self.signs.values())

    # Other gateways

    def others(self) -> list[GatewaySign]:
        """Return other gateways that may still serve clients of the same topics.

        They are of this link, or of one before it that moved some of its topics.
        """
        return self._company.living(self._of_these_topics())

    def _of_these_topics(self) -> list[GatewaySign]:
        links = {self._link.name, *(record.link for record in self.promoted.values())}
        return [each for each in self.signs.values() if each.link in links]

    def beside(self) -> list[GatewaySign]:
        """Return gateways of other links between the same clusters that may still serve clients.

        They take no part, and may have clients of the same topics all the same.
        """
        ours = {each.name for each in self._of_these_topics()}
        living = self._company.living(each for each in self.signs.values() if each.name not in ours)
        return [each for each in living if self._is_between_ours(each.link)]

    def company(self) -> list[GatewaySign]:
        """Return them, with those that ended so lately that brokers may still get something."""
        living = self.others()
        late = self._company.ended_lately() - {each.name for each in living}
        return [*living, *(each for each in self._of_these_topics() if each.name in late)]

    def takes_part(self, sign: GatewaySign) -> bool:
        """Whether a gateway does what another one asks that leads a promotion."""
        return sign.together >= TOGETHER and sign.link == self._link.name

    def why_apart(self, sign: GatewaySign) -> str:
        """Return why a gateway does not take part, "" for no reason."""
        if sign.link != self._link.name:
            return f"it is of link {sign.link}"
        return "" if sign.together else "its version of Towpath promotes alone"

    def is_held(self, name: str) -> bool:
        """Whether brokers get nothing more of a gateway that does not answer."""
        reply = self.replies.get(name)
        return self._company.is_held(name, joined=reply is not None and reply.joined)

    def led_by_others(self) -> list[Promotion]:
        """Return the requests that other gateways work on."""
        return [
            each
            for each in self._asked.values()
            if each.state == PromotionStage.RUNNING and each.gateway != self.name
            if not each.dry_run
        ]

    def is_lost(self, asked: Promotion) -> bool:
        """Whether the gateway that works on a request has ended, or is silent for too long."""
        sign = self.signs.get(asked.gateway)
        reply = self.replies.get(asked.gateway)
        joined = reply is not None and reply.joined and reply.request == asked.name
        ended = sign is None or sign.over or is_gone(sign)
        return ended or self._company.silent(asked.gateway) > (SILENT if joined else _NO_WORD)

    def answer(self, name: str, call: GatewayCall) -> GatewayReply | None:
        """Return what a gateway answered to a call, `None` as long as it did not."""
        found = self._answers.get((name, call.request))
        asked = call.leader, call.number
        return found if found is not None and (found.leader, found.number) == asked else None
