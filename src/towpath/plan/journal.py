"""The journal of steps, in the ledger: what was begun, what is done, and so what is ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from towpath.access import steps as access
from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Journal, Phase
from towpath.ledger.ledger import Ledger
from towpath.model.clock import now_ms
from towpath.model.errors import TowpathError
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.plan.steps import Key, Step, as_data, from_data, key, kind
from towpath.topics import steps as topics
from towpath.topics.apply import is_as_made
from towpath.topics.ours import Ours, Tried

_TOPICS, _CREATE = topics.CreateTopic.subject, topics.CreateTopic.__name__
_DELETE = topics.DeleteTopic.__name__


class JournalWriter:
    """Writes down steps before and after they are done, several at once.

    Before, so that what a process that dies has created is known as ours. The end of some steps and
    the beginning of the next are written together.

    Another process of the link may be at the same steps (`towpath apply` beside `towpath run`). Of
    a step the ledger keeps the last entry, so none of ours may deny what the other one created.
    """

    def __init__(self, ledger: Ledger, books: LinkBooks, plan: str = "") -> None:
        self._ledger, self._books, self._plan = ledger, books, plan
        self._held: list[Journal] = []
        self._mine: set[tuple[Key, Phase, int]] = set()
        self._theirs: dict[Key, Journal] = {}
        self._begun: dict[Key, Journal] = {}

    def begin(self, steps: Iterable[tuple[Step, bool]]) -> None:
        """Write that steps begin, and that those before them are done.

        Args:
            steps: Each with whether what it is about is ours once it is done.
        """
        for step, owned in steps:
            entry = self._entry(step, Phase.BEGUN, owned, NO_TOPIC_ID)
            self._begun[key(step)] = entry
            self._hold(entry)
        self.close()

    def done(self, step: Step, *, owned: bool, topic_id: TopicId = NO_TOPIC_ID) -> None:
        """Remember that a step is done.

        Args:
            step: The step.
            owned: Whether it created what it is about, or changed what an earlier one created.
            topic_id: The topic that was created or changed.
        """
        entry = self._entry(step, Phase.DONE, owned, topic_id)
        self._hold(entry)
        self._books.take(entry)

    def failed(self, step: Step, error: TowpathError) -> None:
        """Remember that a step was not done, and why; what another process did stays done."""
        theirs = self._theirs.get(key(step))
        if theirs is not None:
            self._hold(theirs)
            return
        owned = step.subject != _TOPICS and (
            self.made(step, surely=True) if step.creates else bool(self.owned([step]))
        )
        entry = replace(self._entry(step, Phase.FAILED, owned, NO_TOPIC_ID), error=str(error))
        self._hold(entry)
        self._books.take(entry)

    def unknown(self, step: Step) -> None:
        """Remember that a step, if it was begun, may have been done; `settle` finds that out."""
        theirs, begun = self._theirs.get(key(step)), self._begun.get(key(step))
        if theirs is not None:
            self._hold(theirs)
        elif begun is not None:
            self._books.take(begun)

    def settle(self, target: Admin) -> None:
        """Find out what a process that died in the middle of steps has created.

        Raises:
            ClusterError: The target or the ledger cannot be asked.
        """
        begun = [
            step
            for entry in self._books.journal.values()
            if entry.phase is Phase.BEGUN and entry.owned and entry.do == _CREATE
            if isinstance(step := from_data(entry.step, "ledger"), topics.CreateTopic)
        ]
        names = [step.target for step in begun]
        found = target.topics.describe(names) if begun else {}
        settings = target.configs.describe(found) if found else {}
        for step in begun:
            info = found.get(step.target)
            if info is not None and not info.error:
                ours = is_as_made(step, info, settings.get(step.target, {}))
                self.done(step, owned=ours, topic_id=info.id)
        self.close()

    def close(self) -> None:
        """Write what is remembered."""
        held, self._held = self._held, []
        if held:
            self._ledger.append(held)

    def read(self) -> None:
        """Take in what other processes of the link wrote meanwhile."""
        for entry in self._ledger.read():
            if isinstance(entry, Journal) and entry.link == self._books.link:
                own = _mark(entry) in self._mine
                if own and entry.phase is Phase.BEGUN:
                    continue  # it says nothing about who made what is there
                if not own:
                    self._remember(entry)
            self._books.take(entry)

    def owned(self, steps: Iterable[Step]) -> frozenset[str]:
        """Return what the link created of that which steps change; of topics their ids tell it."""
        ours = access_ours(self._books)
        return frozenset(
            step.about
            for step in steps
            if kind(step) not in _REMOVALS and (step.subject, step.about) in ours
        )

    def made(self, step: Step, topic_id: TopicId = NO_TOPIC_ID, *, surely: bool = False) -> bool:
        """Whether the link, and not somebody else, created what is there.

        Args:
            step: What would have created it.
            topic_id: The topic that is there.
            surely: Leave out what the link only began, and may not have done.
        """
        before = self._books.journal.get(key(step))
        if before is None or not before.owned:
            return False
        if before.phase is Phase.DONE:
            return before.topic_id == topic_id
        return not surely

    def _remember(self, entry: Journal) -> None:
        if entry.owned and entry.phase is not Phase.FAILED:
            self._theirs[_key(entry)] = entry
        else:
            self._theirs.pop(_key(entry), None)

    def _hold(self, entry: Journal) -> None:
        self._held.append(entry)
        self._mine.add(_mark(entry))

    def _entry(self, step: Step, phase: Phase, owned: bool, topic_id: TopicId) -> Journal:
        return Journal(
            self._books.link, *key(step), as_data(step), phase, self._plan, owned, topic_id, "",
            now_ms(),
        )  # fmt: skip


def _key(entry: Journal) -> Key:
    return entry.subject, entry.name, entry.do, entry.part


def _mark(entry: Journal) -> tuple[Key, Phase, int]:
    return _key(entry), entry.phase, entry.at


def done_before(books: LinkBooks, step: Step, plan: str) -> bool:
    """Whether a step of a saved plan was done by an earlier `towpath apply` of that plan."""
    entry = books.journal.get(key(step))
    done = entry is not None and (entry.phase, entry.plan) == (Phase.DONE, plan)
    return bool(plan) and done


def ours_of(books: LinkBooks, ids: Mapping[TopicName, TopicId]) -> Ours:
    """Return what the link did to topics that are still the same.

    Args:
        books: What the ledger knows of the link.
        ids: The topics that the target has now.
    """
    known = [e for e in _by_age(books) if e.subject == _TOPICS and _counts(e, ids)]
    ours = Ours.of(chain.from_iterable(map(_outcome, known)))
    made = {
        TopicName(e.name): e.topic_id for e in known if e.do == _CREATE and e.phase is Phase.DONE
    }
    return replace(
        ours,
        created={name: of for name, of in ours.created.items() if name in made},
        unsure=frozenset(n for n, id_ in made.items() if NO_TOPIC_ID in (id_, ids[n])),
        begun=books.begun,
    )


def _outcome(entry: Journal) -> Iterator[topics.Step | Tried]:
    """Give what a step came to, as far as the journal tells."""
    step = from_data(entry.step, "ledger")
    if isinstance(step, topics.SetConfigs) and entry.phase is not Phase.DONE:
        yield Tried(step)
    elif isinstance(step, topics.Step):
        yield step


def failures(books: LinkBooks) -> list[Journal]:
    """Return the steps that failed when they were tried last, the oldest first."""
    return [entry for entry in _by_age(books) if entry.phase is Phase.FAILED]


def access_ours(books: LinkBooks) -> frozenset[tuple[str, str]]:
    """Return subject and name of everything but topics that the link created and that is left."""
    ours: set[tuple[str, str]] = set()
    for entry in _by_age(books):
        if entry.subject == _TOPICS:
            continue
        if entry.owned:
            ours.add((entry.subject, entry.name))
        elif entry.do in _REMOVALS and entry.phase is Phase.DONE:
            ours.discard((entry.subject, entry.name))
    return frozenset(ours)


_REMOVALS = frozenset(
    step.__name__ for step in (access.DeleteAcl, access.DeleteUser, access.RemoveQuota)
)


def _by_age(books: LinkBooks) -> Iterable[Journal]:
    # No clock is asked: those of machines differ.
    return books.journal.values()


def _counts(entry: Journal, ids: Mapping[TopicName, TopicId]) -> bool:
    """Whether the link did what the entry says, or may have, to a topic that is still the same.

    Where there are no ids (brokers older than Kafka 2.8, and some that only speak its protocol) a
    topic of the same name is taken for the same. A topic that was found there is not ours.
    """
    now = ids.get(TopicName(entry.name))
    then = entry.topic_id or entry.step.get("id", NO_TOPIC_ID)
    if now is None or (NO_TOPIC_ID not in (now, then) and now != then):
        return False
    if entry.do == _CREATE:
        return entry.owned and entry.phase is not Phase.FAILED
    return entry.do != _DELETE or entry.phase is Phase.DONE
