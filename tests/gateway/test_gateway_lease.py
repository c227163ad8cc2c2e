"""Nobody is left out of a promotion who may still send something to brokers."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from tests.support.session.examples import examples
from towpath.gateway.gateway_lease import BEAT, DOUBT, LEASE, GatewayLease, is_held


def test_outside_of_a_promotion_nothing_is_asked_of_anybody() -> None:
    clock = [0.0]
    lease = GatewayLease(lambda: clock[0])
    clock[0] = 1e9
    assert not lease.is_lapsed
    assert not lease.is_joined


def test_a_gateway_that_cannot_tell_of_itself_holds_until_the_ledger_has_its_word() -> None:
    clock = [0.0]
    lease = GatewayLease(lambda: clock[0])
    lease.joins("one")
    clock[0] = LEASE - 1
    lease.renewed(LEASE - 2)
    clock[0] = 2 * LEASE - 2.5
    assert not lease.is_lapsed
    clock[0] += 1
    assert lease.is_lapsed
    lease.renewed(clock[0])
    assert lease.is_lapsed, "others may have gone on without it"
    lease.ended("one")
    lease.joins("two")
    lease.left("one")
    assert lease.is_lapsed, "the second one may count on it"
    lease.ended("two")
    lease.left("one")
    assert lease.is_lapsed, "who leads a third one may have read the word on the second one"
    lease.left("two")
    assert (lease.is_lapsed, lease.is_joined) == (False, False)


def test_a_process_that_ended_may_have_sent_something_just_before() -> None:
    assert not is_held(joined=True, silent=0, gone=DOUBT - 1)
    assert is_held(joined=False, silent=0, gone=DOUBT)
    assert not is_held(joined=False, silent=1e9, gone=None), "it may serve without a lease"


JOIN, OVER, WORD, LAST = "join", "over", "word", "last"


@dataclass
class World:
    """A gateway that follows a log, and who leads promotions and reads its words.

    Attributes:
        log: What was written, with the time.
        held: Until when a promotion goes on that left the gateway out, by its number.
    """

    now: float = 0.0
    log: list[tuple[str, str]] = field(default_factory=list)
    read: int = 0
    lease: GatewayLease = field(init=False)
    joined: str = ""
    wanted: str = ""
    joined_last: bool = False
    leads: str = ""
    told: int = 0
    heard: float = 0.0
    is_left_out: bool = False
    number: int = 0

    def __post_init__(self) -> None:
        self.lease = GatewayLease(lambda: self.now)

    # The gateway

    def reads(self, count: int) -> None:
        """The gateway reads some of the log, and answers what it must."""
        for kind, name in self.log[self.read : self.read + count]:
            self.read += 1
            if kind == JOIN:
                self.lease.joins(name)
                self.joined, self.wanted = name, WORD
            elif kind == OVER:
                self.lease.ended(name)
                self.wanted = LAST
            elif kind == LAST:
                self.lease.left(name)

    def says(self, late: float) -> None:
        """The gateway writes a word, which the ledger takes a while later."""
        if not self.wanted:
            return
        sent = self.now
        self.now += late
        joined = self.wanted == WORD and self.lease.is_joined
        self.log.append((WORD if joined else LAST, self.joined))
        self.lease.renewed(sent)
        if self.wanted == LAST:
            self.wanted = ""

    # Who leads

    def leader_reads(self) -> None:
        for kind, _ in self.log[self.told :]:
            if kind in {WORD, LAST}:
                self.heard, self.joined_last = self.now, kind == WORD
        self.told = len(self.log)

    def begins(self) -> None:
        self.number += 1
        self.leads, self.is_left_out = str(self.number), False
        self.log.append((JOIN, self.leads))
        self.leader_reads()

    def ends(self) -> None:
        if self.leads:
            self.log.append((OVER, self.leads))
            self.leads, self.is_left_out = "", False

    def looks(self) -> None:
        """Who leads leaves the gateway out if it may."""
        self.leader_reads()
        silent = self.now - self.heard
        if self.leads and is_held(joined=self.joined_last, silent=silent, gone=None):
            self.is_left_out = True


STEPS = st.sampled_from(
    [
        *(("reads", count) for count in (1, 2, 3)),
        *(("says", late) for late in (0.0, 0.0, 8.0, 30.0)),
        *(("waits", seconds) for seconds in (BEAT, 4.0, 30.0)),
        *(("begins", 0), ("ends", 0), ("ends then begins", 0)),
        *[("looks", 0)] * 2,
    ]
)


@examples(8)
@given(st.lists(STEPS, min_size=12, max_size=30))
def test_whoever_is_left_out_sends_nothing_until_that_promotion_is_over(
    steps: list[tuple[str, float]],
) -> None:
    """Whatever is frozen, written late, or killed: the gateway may stop at any of the steps."""
    world = World()
    world.begins()
    world.reads(1)
    world.says(0)
    for what, how in steps:
        match what:
            case "reads":
                world.reads(int(how))
            case "says":
                world.says(how)
            case "waits":
                world.now += how
            case _:
                for each in what.split(" then "):
                    getattr(world, each)()
        assert not world.is_left_out or world.lease.is_lapsed
