"""Producers keep their ids, and brokers know them by others in each era of a topic."""

from __future__ import annotations

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.gateway.producer_eras import FIRST_ID, IDS, canonical, own, stamped, told
from towpath.wire import plain
from towpath.wire.header import BatchHeader

PRODUCERS = st.integers(FIRST_ID, FIRST_ID + IDS - 1)
ERAS = st.integers(0, 1000)


@given(PRODUCERS, ERAS)
def test_an_id_of_an_era_leads_back_to_the_producer(producer: int, era: int) -> None:
    there = told(producer, era)
    assert FIRST_ID <= there < FIRST_ID + IDS
    assert own(there, era) == producer
    assert (there == producer) is (era == 0), "no broker knows it from another era"


@given(st.integers(-1, FIRST_ID - 1), ERAS)
def test_ids_that_are_not_the_gateways_stay(producer: int, era: int) -> None:
    assert told(producer, era) == producer


def batch(producer: int) -> bytes:
    records = [plain.Record(b"k", b"v" * 300, (), 7), plain.Record(None, b"w", (), 8)]
    return bytes(plain.encode(records, producer_id=producer, producer_epoch=3, base_sequence=40))


@pytest.mark.parametrize("era", [1, 2])
def test_a_batch_differs_by_its_producer_alone_and_its_checksum_is_right(era: int) -> None:
    before = batch(FIRST_ID + 5)
    made = stamped(before, era)
    header = BatchHeader.read(made)
    assert header.producer_id == told(FIRST_ID + 5, era)
    assert int.from_bytes(made[17:21], "big") == google_crc32c.value(made[21:])
    assert (made[:17], made[21:43], made[51:]) == (before[:17], before[21:43], before[51:])


def test_a_damaged_batch_stays_as_it_is_so_that_the_broker_finds_out() -> None:
    damaged = bytearray(batch(FIRST_ID + 5))
    damaged[-1] ^= 1
    assert stamped(bytes(damaged), 1) == bytes(damaged)


def test_a_producer_of_the_source_has_an_id_of_the_gateway_s_elsewhere() -> None:
    numbers = [0, 1, 2, 1000, (1 << 40) - 1]
    ids = [canonical(each) for each in numbers]
    assert all(FIRST_ID <= each < FIRST_ID + IDS for each in ids)
    assert len({*ids, *(told(each, 1) for each in ids)}) == 2 * len(numbers)
    assert [canonical(each) for each in (-1, 1 << 40, FIRST_ID + 3)] == [-1, 1 << 40, FIRST_ID + 3]
