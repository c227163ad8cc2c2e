"""CRC-32 of concatenated bytes, from the checksums of their parts."""

from __future__ import annotations

from functools import cache, lru_cache

_POLYNOMIAL = 0xEDB88320
_ONE = 1 << 31
"""The polynomial 1: the highest bit is the lowest power, as CRC-32 is reflected."""


def joined_crc(first: int, second: int, size: int) -> int:
    """Return the CRC-32 of two concatenated byte ranges, like zlib's `crc32_combine`.

    Args:
        first: The CRC-32 of the first stretch.
        second: The CRC-32 of the second stretch.
        size: Bytes of the second stretch.
    """
    return _times(_shift(size), first) ^ second


@cache
def _square(number: int) -> int:
    """Return x to the power of 2 ** `number`."""
    return _times(_square(number - 1), _square(number - 1)) if number else _ONE >> 1


@lru_cache(64)
def _shift(size: int) -> int:
    """Return what a checksum is multiplied by if so many bytes follow: x to the power of bits."""
    product, bits, number = _ONE, size * 8, 0
    while bits:
        if bits & 1:
            product = _times(_square(number), product)
        bits >>= 1
        number += 1
    return product


def _times(one: int, other: int) -> int:
    """Return the product of two polynomials, modulo that of CRC-32."""
    product = 0
    while one:
        if one & _ONE:
            product ^= other
        one = one << 1 & 0xFFFFFFFF
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return product
