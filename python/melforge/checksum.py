"""CRC-32C, the checksum that a dataset records of its files.

Python's standard library has no CRC-32C. ``google-crc32c`` or ``crc32c`` are used
where they are installed; otherwise numpy computes it at some 100 MB/s, by cutting
the data into many lanes that advance together.
"""

from __future__ import annotations

import os
from typing import Callable

import numpy as np

_POLY = 0x82F63B78
_LANES = 1 << 13


def _byte_table() -> np.ndarray:
    table: np.ndarray = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(_POLY), np.uint32(0))
    return table


_T8 = _byte_table()
# One lookup for two bytes: v goes through the table byte by byte.
_V = np.arange(1 << 16, dtype=np.uint32)
_T16 = _T8[(_T8[_V & 0xFF] ^ (_V >> 8)) & 0xFF] ^ (_T8[_V & 0xFF] >> 8)
del _V


def _zeros(columns: np.ndarray, count: int) -> np.ndarray:
    """Advances each register by count zero bytes, one by one."""
    for _ in range(count):
        columns = _T8[columns & 0xFF] ^ (columns >> 8)
    return columns


def _apply(matrix: np.ndarray, registers: np.ndarray) -> np.ndarray:
    """Multiplies registers by a 32 x 32 matrix over GF(2), given as its columns."""
    out = np.zeros_like(registers)
    for bit in range(32):
        out ^= np.where((registers >> np.uint32(bit)) & 1, matrix[bit], np.uint32(0))
    return out


def _shift(length: int) -> np.ndarray:
    """The matrix that advances a register by length zero bytes."""
    result = np.uint32(1) << np.arange(32, dtype=np.uint32)
    power = _zeros(result, 1)
    while length:
        if length & 1:
            result = _apply(power, result)
        power = _apply(power, power)
        length >>= 1
    return result


def _crc_numpy(data: bytes, crc: int = 0) -> int:
    """CRC-32C of data that follows data whose CRC-32C is crc.

    A CRC is linear: zeros in front of the data do not change it when the register
    starts with zero, and the CRCs of two halves are combined by advancing the
    first over the length of the second. The start value is moved into the data.
    """
    size = len(data)
    start = crc ^ 0xFFFFFFFF
    if size < 4:
        for byte in data:
            start = int(_T8[(start ^ byte) & 0xFF]) ^ (start >> 8)
        return start ^ 0xFFFFFFFF
    lanes = _LANES
    while lanes > 1 and lanes * 64 > size:
        lanes //= 2
    length = -(-size // (2 * lanes)) * 2
    padded = np.zeros(lanes * length, np.uint8)
    padded[lanes * length - size :] = np.frombuffer(data, np.uint8)
    first = lanes * length - size
    padded[first : first + 4] ^= np.frombuffer(start.to_bytes(4, "little"), np.uint8)
    words = np.ascontiguousarray(padded.view("<u2").reshape(lanes, length // 2).T)
    registers = np.zeros(lanes, np.uint32)
    for column in words:
        registers = _T16[(registers ^ column) & np.uint32(0xFFFF)] ^ (registers >> np.uint32(16))
    matrix = _shift(length)
    while len(registers) > 1:
        registers = _apply(matrix, registers[0::2]) ^ registers[1::2]
        matrix = _apply(matrix, matrix)
    return int(registers[0]) ^ 0xFFFFFFFF


def _choose() -> Callable[[bytes, int], int]:
    try:
        import google_crc32c

        return lambda data, crc: google_crc32c.extend(crc, data)
    except ImportError:
        pass
    try:
        import crc32c as other

        return lambda data, crc: other.crc32c(data, crc)
    except ImportError:
        return _crc_numpy


_crc = _choose()


def crc32c(data: bytes, crc: int = 0) -> int:
    """CRC-32C of data that follows data whose CRC-32C is crc."""
    return _crc(data, crc)


def crc32c_file(path: str | os.PathLike[str]) -> str:
    """CRC-32C of a file as eight hexadecimal digits, as dataset.json has it."""
    crc = 0
    with open(path, "rb") as f:
        while block := f.read(1 << 22):
            crc = crc32c(block, crc)
    return f"{crc:08x}"
