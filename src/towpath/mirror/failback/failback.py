"""`towpath failback`: its parts in order, each of which can be repeated after a kill.

1. look: what each of both clusters alone has; nothing is written
2. salvage: what loses is copied to salvage topics, and compared; both topics keep all they have
3. border: where the link back begins, in one append with what was salvaged
4. look again: what the losing side got meanwhile is salvaged, too
5. file: that of the link back
6. reversed: the state of the link; from here on the link back may run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import (
    STATES_LEVEL,
    WHOLE_LINK,
    Created,
    Entry,
    LinkIdentity,
    LinkState,
    Salvaged,
)
from towpath.ledger.events import What
from towpath.ledger.ledger import FACTS, Ledger
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.moves import Moves, moved_meanwhile
from towpath.ledger.states import AnyState, FailedOver, Mirroring, Mover
from towpath.ledger.wishes import read_begun
from towpath.mirror.failback.back_file import BackFile, back_file
from towpath.mirror.failback.clusters import BothClusters, both_clusters
from towpath.mirror.failback.divergence import Divergence, LoneRecords
from towpath.mirror.failback.divergence_search import FailbackLook, look
from towpath.mirror.failback.failback_plan import (
    FailbackPlan,
    borders,
    due,
    require_same_answer,
)
from towpath.mirror.failback.request import FailbackReport, FailbackRequest
from towpath.mirror.failback.salvage.unfinished import unfinished
from towpath.mirror.failback.salvaging import save
from towpath.mirror.failback.scope import gone_back, is_whole, part_of, require_over
from towpath.mirror.twin import require_no_twin
from towpath.model.errors import ConfigError, ConfigProblem, StoppedError
from towpath.model.link_names import back_name
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition
from towpath.plan.lease import Lease
from towpath.runtime.clock import now_ms
from towpath.runtime.durable import sync_folder
from towpath.settings import LinkConfig
from towpath.settings.document import read
from towpath.settings.loading import tree
from towpath.settings.naming import fits

_LOOKS = 5
"""How often what the losing side got meanwhile is salvaged, before its writers must be stopped."""


_TWIN = "a link with a twin is not turned round: its twin copies back already"


def failback(config: LinkConfig, asked: FailbackRequest) -> FailbackReport:
    """Reverse a link that was failed over or cut over; both clusters must answer.

    A link that is turned round already is left as it is.

    Raises:
        ClusterError: A cluster cannot be used. A repeated failback goes on.
        ConfigError: The file of the link back cannot be written.
        LedgerError: The link never ran, or was neither failed over nor cut over.
        SalvageDiffersError: A salvage topic does not hold what it should.
        StoppedError: The user asked to stop; a repeated failback goes on.
    """
    require_no_twin(config, _TWIN)
    with ExitStack() as stack:
        link = stack.enter_context(open_link(config))
        read_begun(link)
        link.books.check_clusters(link.source.cluster.id(), link.target.cluster.id())
        clusters = stack.enter_context(both_clusters(link))
        return _Failback(link, clusters, asked, stack).go()


class _Failback:
    def __init__(
        self, link: OpenLink, clusters: BothClusters, asked: FailbackRequest, stack: ExitStack
    ) -> None:
        self._link, self._clusters, self._asked, self._stack = link, clusters, asked, stack
        self._lease: Lease | None = None
        self._back = back_name(link.name)

    def go(self) -> FailbackReport:
        """Do the parts in their order."""
        states = require_over(self._link.books, self._link.config.topics.matches)
        meant = part_of(self._link, due(states) or states, gone_back(states)).partitions
        require_same_answer(meant, self._asked.wins)
        self._back = self._name()
        plan = self._plan(states)
        report = FailbackReport(plan=plan)
        if plan.reversed:
            return self._again(report, states)
        if not plan.ready or not self._asked.agreed(plan):
            return report
        report.back = self._back_file(states)
        if is_whole(states):  # else a run of the link goes on with other topics
            self._lease = self._stack.enter_context(Lease(self._link, "failback"))
        self._require_unmoved(states)
        self._link.events.tell(What.FAILBACK_STARTED, wins=str(self._asked.wins or ""))
        for _ in range(_LOOKS):
            if not self._salvage(plan):
                break
            plan = report.plan = self._plan(states)
            if not plan.ready:
                return report
        else:
            report.missing = (_STILL_WRITTEN,)
            return report
        self._append(borders(plan, now_ms()))
        self._write(report.back)
        self._reverse(states, plan, report.back)
        report.salvaged, report.done = tuple(all_salvaged(self._link.books)), True
        self._link.events.tell(
            What.FAILBACK_ENDED, back=report.back.link, salvaged=len(report.salvaged)
        )
        return report

    def _name(self) -> LinkName:
        """Return the name of the link back: of an earlier failback, or one that no link has.

        The link back keeps its ledger on the present source.

        Raises:
            ClusterError: The source cannot be asked.
        """
        begun = {each.back for each in self._link.books.states.values() if each.back}
        if begun:
            return LinkName(min(begun))
        source = self._clusters.source
        ledger = Ledger(source.admin, source.client)
        kinds = {LinkIdentity.kind, Created.kind}
        there = ledger.read(FACTS, wanted=lambda key: key.kind in kinds) if ledger.usable() else ()
        taken = {each.link for each in there if isinstance(each, LinkIdentity | Created)}
        return back_name(self._link.name, taken)

    def _require_unmoved(self, states: Mapping[TopicName, LinkState]) -> None:
        """Raise if another command moved the link since it was looked at.

        Raises:
            LedgerError: One did.
        """
        self._link.read()
        books = self._link.books
        found = {topic: books.states[topic] for topic in states if topic in books.states}
        for topic, each in found.items():
            if each != states[topic]:
                raise moved_meanwhile(each)

    def _again(
        self, report: FailbackReport, states: Mapping[TopicName, LinkState]
    ) -> FailbackReport:
        """Return what a failback has done before; its file may have been lost since."""
        report.back = self._back_file(states)
        if not self._asked.to.exists():
            self._write(report.back)
        report.salvaged, report.done = tuple(all_salvaged(self._link.books)), True
        return report

    def _plan(self, states: Mapping[TopicName, LinkState]) -> FailbackPlan:
        link = self._link
        found = FailbackLook(())
        if due(states) or not states:
            part = part_of(link, due(states), gone_back(states))
            found = look(self._clusters, part, link.ledger, self._counting)
        return FailbackPlan(
            link=link.name,
            back=self._back,
            look=found,
            wins=self._asked.wins,
            states=states,
            unfinished=tuple(unfinished(self._clusters, found.partitions, self._asked.wins)),
        )

    def _counting(self, tp: TopicPartition) -> None:
        self._asked.told(f"counting records of {tp}", 0, 1)
        self._require()

    def _salvage(self, plan: FailbackPlan) -> bool:
        """Salvage what loses and was not salvaged; returns whether there was something."""
        any_ = False
        for side in Side:
            losers = list(plan.losers(side))
            if losers:
                any_ = True
                self._save(side, losers)
        return any_

    def _save(self, side: Side, losers: Sequence[tuple[Divergence, LoneRecords]]) -> None:
        def told(number: int, total: int) -> None:
            self._asked.told("salvaging", number, total)

        saved = save(
            self._link, self._clusters, side, losers,
            told=told, stop=self._asked.stop, hold=self._hold,
        )  # fmt: skip
        entries: list[Entry] = []
        for (one, own), entry in zip(losers, saved, strict=True):
            at = entry.at
            cut = one.cut_behind(own.end, at) if side is Side.TARGET else one.cut_back(at)
            entries += [entry, *([cut] if cut else [])]
        self._append(entries)

    def _append(self, entries: Iterable[Entry]) -> None:
        self._hold()
        entries = list(entries)
        if entries:
            self._link.ledger.append(entries)
            self._link.read()

    def _hold(self) -> None:
        if self._lease is not None:
            self._lease.require()

    def _require(self) -> None:
        if self._asked.stop.is_set():
            raise StoppedError("nothing was turned round; a repeated failback goes on")

    def _back_file(self, states: Mapping[TopicName, LinkState]) -> BackFile:
        """Return the file of the link back.

        Raises:
            ConfigError: It cannot be made, or would replace another file.
        """
        asked, books = self._asked, self._link.books
        names = {
            str(tp.topic): str(each.opened.target_topic)
            for tp, each in part_of(self._link, states).partitions.items()
            if each.opened is not None
        }
        self._link.ledger.read_groups(books)
        groups = {each.group: each.mirror_group or each.group for each in books.groups.values()}
        made = back_file(read(asked.file), asked.file.name, names, groups, self._back)
        if asked.to.absolute().parent.resolve() != asked.file.absolute().parent.resolve():
            text = f"must be in the folder of {asked.file}, as paths in a file begin there"
            raise ConfigError((ConfigProblem("--to", text),))
        if asked.to.exists():
            _require_fit(asked.to, made, names.values())
        return made

    def _write(self, back: BackFile) -> None:
        """Write the file, unless somebody has edited it since an earlier failback wrote it."""
        to = self._asked.to
        if to.exists():
            return
        part = to.with_name(f".{to.name}.part")
        part.write_text(back.text, "utf-8")
        part.chmod(self._asked.file.stat().st_mode & 0o777)
        part.replace(to)
        sync_folder(to.absolute().parent)

    def _reverse(
        self, states: Mapping[TopicName, LinkState], plan: FailbackPlan, back: BackFile
    ) -> None:
        """Write that the link, or each topic that was failed over alone, is turned round."""
        self._hold()
        self._link.raise_level(STATES_LEVEL)  # a cutover did not need that
        moves = Moves(self._link, [WHOLE_LINK] if is_whole(due(states)) else [*due(states)])
        wins = {one.tp: winner for one in plan.look.partitions if (winner := plan.winner(one))}
        moved = []
        for state in moves.now:
            topic = state.entry.topic
            said = {str(w) for tp, w in wins.items() if topic in {WHOLE_LINK, tp.topic}}
            word = said.pop() if len(said) == 1 else ""
            moved.append(_reversed_from(state, moves.by, back.link, word))
        moves.write(moved)


_STILL_WRITTEN = (
    "the losing side is still written to, faster than its records are salvaged: stop its producers,"
    " then give the command again; what is salvaged is not copied again"
)


def _reversed_from(state: AnyState, by: Mover, back: LinkName, wins: str) -> AnyState:
    if isinstance(state, Mirroring):  # a cutover ended it, which has no state of its own
        state = state.seal(by, 0).commit(by, 0).fail_over(by)
    assert isinstance(state, FailedOver)  # noqa: S101  # by `require_over`
    return state.reverse(by, back, wins)


def all_salvaged(books: LinkBooks) -> list[Salvaged]:
    """Return the ledger entries about all salvaged records of a link, by partition."""
    return [
        each for tp in sorted(books.partitions) for each in books.of(tp).salvaged if each.records
    ]


def _require_fit(to: Path, made: BackFile, mirrors: Iterable[str]) -> None:
    """Raise if a file that is there is not that of the link back; somebody may have edited it.

    Raises:
        ConfigError: It is not, or names too few topics.
    """
    there = tree(to)
    topics = there.get("topics")
    include = topics.get("include", ()) if isinstance(topics, dict) else ()
    said = tuple(map(str, include)) if isinstance(include, list) else ()
    lacking = [name for name in mirrors if not fits(name, said)]
    text = ""
    if there.get("link") != made.link:
        text = f"{to} exists, and is not the file of link {made.link}; name another one with --to"
    elif lacking:
        text = (
            f"{to} exists, and its `topics.include` lacks {lacking[0]}; remove the file, so that it"
            " is written anew, or add the topic"
        )
    if text:
        raise ConfigError((ConfigProblem("--to", text),))
