"""Which limits hold: those of the file, or those that were set later. Pure."""

from __future__ import annotations

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, Removed, SetRate, decode, encode
from towpath.ledger.rates import Limits
from towpath.model.nouns import LinkName, TopicName
from towpath.model.rates import RateLimits
from towpath.settings import RateConfig

LINK = LinkName("shop")
A, B = TopicName("a"), TopicName("b")
FILE = RateConfig.model_validate({"link": "50MB", "topics": {"a": "2MB"}})
NONE = RateConfig()


def wish(topic: TopicName, rate: int) -> SetRate:
    return SetRate(
        link=LINK, topic=topic, rate=rate, user="ana", host="ops-1", at=1_795_348_284_915
    )


def limits(config: RateConfig, *entries: SetRate | Removed) -> Limits:
    books = LinkBooks(LINK)
    for entry in entries:
        read = decode(*encode(entry))
        assert read is not None
        books.take(read)
    return Limits(config, books.rates)


def test_what_was_set_holds_in_the_place_of_the_file() -> None:
    assert limits(FILE).rates([A, B]) == RateLimits(50_000_000, {A: 2_000_000})
    made = limits(FILE, wish(WHOLE_LINK, 1_000_000), wish(B, 5000))
    assert made.rates([A, B]) == RateLimits(1_000_000, {A: 2_000_000, B: 5000})
    assert limits(FILE, wish(WHOLE_LINK, 0), wish(A, 0)).rates([A, B]) == RateLimits()
    back = Removed(SetRate.kind, LINK, (A,))
    assert limits(FILE, wish(A, 0), back).rates([A]) == RateLimits(50_000_000, {A: 2_000_000})
    assert limits(NONE, wish(A, 7), wish(A, 9)).rates([A, B]) == RateLimits(None, {A: 9})


def test_limits_are_told_in_sentences() -> None:
    assert limits(FILE).sentences == (
        "the link is limited to 50MB/s by `run.max_rate` of the file",
        "each topic that matches a is limited to 2MB/s by `run.max_rate` of the file",
    )
    assert not limits(NONE)
    assert limits(NONE).sentences == ()
    [whole, pattern, topic] = limits(FILE, wish(WHOLE_LINK, 0), wish(A, 3_000_000)).sentences
    assert pattern.startswith("the link has no limit, set by ana on ops-1 since 2026-")
    assert pattern.endswith("; `towpath rate FILE --reset` returns to 50MB/s of the file")
    assert whole.startswith("each topic that matches a ")
    assert topic.startswith("topic a is limited to 3MB/s, set by ana on ops-1 since 2026-")
    assert topic.endswith("; `towpath rate FILE --reset --topics a` returns to 2MB/s of the file")
    assert limits(NONE, wish(B, 10)).sentences[0].endswith("--topics b` takes that back")
