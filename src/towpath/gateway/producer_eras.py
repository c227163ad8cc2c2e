"""Producer ids of the gateway's clients as brokers know them, by era of a topic. Pure.

A broker remembers for a day which sequence of a producer id it took last in a partition. A topic
that went to the target and back meets its own past there: its producers have written hundreds of
batches elsewhere, and the broker would take none that does not follow on the last one it knows. So
each time a topic goes back, all ids of its producers change, by the same arithmetic: a broker then
meets ids of which it never heard, and takes the first batch at any sequence. Clients know nothing
of that; their ids stay.
"""

from __future__ import annotations

import struct

import google_crc32c

SEQUENCES = 1 << 31
"""Sequences of a producer begin again at 0 behind the highest one."""
FIRST_ID = 1 << 62
"""The lowest producer id that the gateway gives. Brokers count theirs from 0, and Towpath's mirrors
have theirs in [2^40, 2^40 + 2^61): an id of the gateway means one producer on both clusters."""
IDS = 1 << 61
"""How many ids there are."""
_STRIDE = 0x1B873593CC9E2D51 % IDS | 1
"""What is added to ids in each era, modulo their number. Ids are drawn at random, so ids of one era
meet those of another as rarely as two of one era do."""
_ADOPTED = 0x2545F4914F6CDD1D % IDS | 1
"""What makes an id of the gateway's of one that the source gave; odd, so that it can be undone."""
_CRC_AT, _SUMMED_AT, _PRODUCER_AT = 17, 21, 43
_CRC = struct.Struct(">I")
_PRODUCER = struct.Struct(">qhi")


_COUNTED = 1 << 40
"""Below this, brokers count the ids that they give."""


def is_adopted(producer: int) -> bool:
    """Return whether a producer may have its id from a cluster, not from a gateway or a mirror."""
    return 0 <= producer < _COUNTED


def is_given(producer: int) -> bool:
    """Return whether a producer has its id from a gateway, of whichever link."""
    return producer >= FIRST_ID


def is_relayed(producer: int, *, adopts: bool) -> bool:
    """Return whether the id of a producer lets it come through a gateway.

    Args:
        producer: The id.
        adopts: Whether producers come through the gateway with ids of the source.
    """
    return is_given(producer) or (adopts and is_adopted(producer))


def canonical(producer: int) -> int:
    """Return the id by which the gateway knows a producer that is not transactional.

    One that had its id from the source, before the gateway took over its addresses, is known to
    other clusters and in later eras by an id of the gateway's: the target gives the same numbers
    to others. No two ids become one.
    """
    if is_adopted(producer):
        return FIRST_ID + (producer * _ADOPTED + _STRIDE // 2) % IDS
    return producer


def told(producer: int, era: int) -> int:
    """Return the producer id that brokers get in an era; ids that no gateway gave stay the same."""
    if producer < FIRST_ID or not era:
        return producer
    return FIRST_ID + (producer - FIRST_ID + era * _STRIDE) % IDS


def own(producer: int, era: int) -> int:
    """Return the producer id that clients know, for one that brokers know in an era."""
    return told(producer, -era)


def stamped(records: bytes, era: int) -> bytes:
    """Return a record batch, of no transaction, with the producer id of an era.

    A batch that is damaged stays as it is: the broker finds that out.
    """
    producer, epoch, sequence = _PRODUCER.unpack_from(records, _PRODUCER_AT)
    return written_by(records, told(canonical(producer), era), epoch, sequence)


def written_by(records: bytes, producer: int, epoch: int, sequence: int) -> bytes:
    """Return a record batch with other identity and first sequence; see `stamped`."""
    (said,) = _CRC.unpack_from(records, _CRC_AT)
    there = _PRODUCER.pack(producer, epoch, sequence)
    before = records[_PRODUCER_AT : _PRODUCER_AT + _PRODUCER.size]
    if there == before or google_crc32c.value(records[_SUMMED_AT:]) != said:
        return records
    made = bytearray(records)
    made[_PRODUCER_AT : _PRODUCER_AT + _PRODUCER.size] = there
    _CRC.pack_into(made, _CRC_AT, google_crc32c.value(bytes(made[_SUMMED_AT:])))
    return bytes(made)
