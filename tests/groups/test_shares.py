"""Where share groups go on, given what brokers tell of them. Pure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from towpath.groups.shares import UNKNOWN, ShareStand, bounded
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.model.nouns import TargetOffset


def test_all_accepted_is_the_end_of_the_log() -> None:
    stand = ShareStand(start=0, lag=0, before=100, after=104)
    assert stand.place(-1) == (100, 0), "what came while the broker was asked may be unread"


def test_holes_come_again_with_what_was_accepted_behind_them() -> None:
    assert ShareStand(start=0, lag=2, before=10, after=10).place(-1) == (0, 8)


def test_a_broker_that_tells_no_lag_says_nothing_of_what_comes_again() -> None:
    assert ShareStand(start=4, before=10, after=10).place(-1) == (4, UNKNOWN)
    assert ShareStand(start=10, before=10, after=10).place(-1) == (10, 0), "nothing is behind it"
    assert ShareStand(start=4, lag=3).place(-1) == (4, UNKNOWN), "nobody told the log's end"


def test_what_was_all_accepted_once_is_never_given_back() -> None:
    stand = ShareStand(start=0, lag=40, before=150, after=150)
    assert stand.place(110) == (110, 0), "nothing was acknowledged since"
    assert stand.place(120) == (0, 110), "it was set back: it cannot have accepted 120"


def test_a_start_that_stays_behind_further_records_was_set_back() -> None:
    """The next acknowledgement writes the start that was reached, so some record may be left."""
    stand = ShareStand(start=0, lag=1, before=15, after=15)
    assert stand.place(10) == (0, 14)


@given(
    read=st.lists(st.booleans(), max_size=40),
    start=st.integers(0, 40),
    news=st.integers(0, 5),
    last=st.integers(-1, 50),
)
def test_no_record_is_ever_passed_over(read: list[bool], start: int, news: int, last: int) -> None:
    """Whatever was accepted, the group goes on before each record that it has not accepted."""
    start = min(start, next((at for at, done in enumerate(read) if not done), len(read)))
    lag = read.count(False)
    end = len(read) + (news if lag else 0)
    first = next((at for at, done in enumerate(read) if not done), len(read))
    proven = last if last <= first else -1
    at, again = ShareStand(start, lag + (news if lag else 0), len(read), end).place(proven)
    assert at <= first
    assert again == sum(read[at:])


def test_an_answer_says_how_many_records_come_again() -> None:
    exact = TranslatedOffset(TargetOffset(7), Exactness.EXACT)
    assert bounded(exact, 0) is exact
    one, eight, some = (bounded(exact, again) for again in (1, 8, UNKNOWN))
    assert one.exactness is eight.exactness is some.exactness is Exactness.BOUNDED
    assert one.why == "1 record behind the start offset that the group has accepted comes again"
    assert eight.why == "8 records behind the start offset that the group has accepted come again"
    assert "do not tell how many" in some.why
    later = TranslatedOffset(TargetOffset(7), Exactness.NOT_YET, "later")
    assert bounded(later, 8) is later
