"""Options and positions of queries, without a broker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql.types import StructType

from towpath.cluster.metadata import TopicInfo
from towpath.dataframes import stream
from towpath.dataframes.errors import TopicGoneError
from towpath.dataframes.options import EARLIEST, OffsetBound, read_options
from towpath.dataframes.source import TowpathSource
from towpath.dataframes.stream import Position, require_there
from towpath.model.errors import ConfigError, UnreachableError
from towpath.model.nouns import Side, TopicName

BROKERS = {"kafka.bootstrap.servers": "b:9092"}


def test_a_query_that_runs_waits_for_its_cluster_and_a_new_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = [UnreachableError(Side.SOURCE, "asking", "refused")] * 3

    def topics(*_: object, **__: object) -> dict[TopicName, TopicInfo]:
        if away:
            raise away.pop()
        return {}

    monkeypatch.setattr(stream, "topics_of", topics)
    reader = stream.StreamReader(read_options({**BROKERS, "subscribe": "a"}))
    with pytest.raises(UnreachableError):
        reader.initialOffset()
    assert len(away) == 2
    assert reader.latestOffset({}) == {}
    assert not away
    away += [UnreachableError(Side.SOURCE, "asking", "refused")] * 99
    timeout = {"kafka.request.timeout.ms": "200"}
    short = stream.StreamReader(read_options({**BROKERS, **timeout, "subscribe": "a"}))
    with pytest.raises(UnreachableError):
        short.latestOffset({})


def position(*topics: str) -> Position:
    return {topic: {"id": "x", "at": {"0": 7}} for topic in topics}


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("startingOffsets", '{"a": {"0": -3}}', "a-0: -3 is no whole number of -2 or more"),
        ("startingOffsets", '{"a": {"0": 1.7}}', "a-0: 1.7 is no whole number"),
        ("endingOffsets", '{"a": {"0": true}}', "a-0: true is no whole number"),
        ("startingOffsets", '{"a": {"0": "5"}}', 'a-0: "5" is no whole number'),
        ("startingOffsets", '{"a": 5}', "must be such as"),
        ("endingOffsetsByTimestamp", '{"a": {"0": -7}}', "a-0: -7 is no whole number of 0 or more"),
    ],
)
def test_offsets_and_times_that_are_none_are_told(option: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_options({**BROKERS, "subscribe": "a", option: value})


def test_of_several_bounds_the_one_counts_that_counts_in_spark() -> None:
    given = {
        "startingOffsets": "earliest",
        "startingOffsetsByTimestamp": '{"a": {"0": 1}}',
        "startingTimestamp": "7",
    }
    options = read_options({**BROKERS, "subscribe": "a", **given})
    assert options.start == OffsetBound(time=7)
    del given["startingTimestamp"]
    options = read_options({**BROKERS, "subscribe": "a", **given})
    assert options.start == OffsetBound(EARLIEST, times={("a", 0): 1})


@pytest.mark.parametrize(
    ("option", "word"), [("startingOffsets", "latest"), ("endingOffsets", "Earliest")]
)
def test_a_batch_that_would_read_nothing_is_refused(option: str, word: str) -> None:
    told = {**BROKERS, "subscribe": "a", option: word}
    with pytest.raises(ConfigError, match=f"{option}: must not be {word.lower()} for a batch"):
        TowpathSource(told).reader(StructType())
    if option == "startingOffsets":
        TowpathSource(told).streamReader(StructType())


def test_a_protocol_that_is_none_is_told() -> None:
    told = {**BROKERS, "subscribe": "a", "kafka.security.protocol": "SASL_TLS"}
    with pytest.raises(ConfigError, match=r"must be one of PLAINTEXT, SSL, .* not 'SASL_TLS'"):
        read_options(told)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{"a": [0, "x"]}', "must be such as"),
        ('{"a": [-1]}', "must be such as"),
        ('{"a": 0}', "must be such as"),
        ('{"a": []}', "names no partition"),
        ("{}", "names no partition"),
    ],
)
def test_partitions_that_are_none_are_told(value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_options({**BROKERS, "assign": value})


def test_a_topic_that_is_gone_ends_the_query_or_is_told(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before, after = position("a", "b"), position("a")
    for which in (
        {"subscribePattern": "[ab]"}, {"subscribe": "a,b"}, {"assign": '{"a": [0], "b": [0]}'},
    ):  # fmt: skip
        options = read_options({**BROKERS, **which})
        with pytest.raises(TopicGoneError, match=r"b is gone.*up to which it was read \(0: 7\)"):
            require_there(before, after, options)
        require_there(after, before, options)
        require_there(before, after, replace(options, fails=False))
        assert "b is gone" in capfd.readouterr().err
    for which in ({"subscribePattern": "a"}, {"subscribe": "a"}):  # it is asked for no more
        require_there(before, after, read_options({**BROKERS, **which}))
