"""Tables of CRC-32C (the Castagnoli polynomial, bit-reflected) for the compiled loops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

POLYNOMIAL = 0x82F63B78


def _slices() -> npt.NDArray[np.uint32]:
    """Return the tables that take eight bytes at a time. The first of them takes one byte."""
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, 8):
        tables[k] = tables[k - 1] >> 8 ^ tables[0][tables[k - 1] & 0xFF]
    return tables


def _shifts() -> npt.NDArray[np.uint32]:
    """Return x^(2^k) modulo the polynomial, for k = 0 to 31."""
    table = np.zeros(32, np.uint32)
    power = 1 << 30
    for k in range(32):
        table[k] = power
        power = _multiply(power, power)
    return table


def _multiply(a: int, b: int) -> int:
    """Multiply modulo the polynomial."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (POLYNOMIAL if b & 1 else 0)
    return product


SLICES = _slices()
BYTES = SLICES[0].copy()
SHIFTS = _shifts()
