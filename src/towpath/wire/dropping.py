"""The evaluation of rules that leave records out, for compiled loops. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire import program, rows
from towpath.wire.batch import NO_END
from towpath.wire.copying import same
from towpath.wire.loops import inlined

_COMMA = np.uint8(ord(","))
_NO_HEADER = -2
_NO_TIME = -1
"""Any other time before 1970 is one."""


@inlined
def _last_header(data: Any, row: Any, texts: Any, name_at: Any, name_size: Any) -> Any:
    """Return position and size of the value of the last header of a name, or `_NO_HEADER`."""
    found_at, found_size = np.int64(0), np.int64(_NO_HEADER)
    position, end = row[rows.HEADERS_AT], np.int64(len(data))
    for _ in range(row[rows.HEADERS]):
        size, at, position = rows.piece(data, position, end)
        value_size, value_at, position = rows.piece(data, position, end)
        if size == name_size and same(data, at, texts, name_at, size):
            found_at, found_size = value_at, value_size
    return found_at, found_size


@inlined
def _matches(data: Any, at: Any, size: Any, texts: Any, matches: Any, first: Any, end: Any) -> Any:
    """Whether bytes are equal to one of some texts, or begin with it. Null matches nothing."""
    for index in range(first, end):
        wanted = matches[index, program.SIZE]
        fits = size >= wanted if matches[index, program.PREFIX] else size == wanted
        if size >= 0 and fits and same(data, at, texts, matches[index, program.AT], wanted):
            return True
    return False


@inlined
def _names_home(data: Any, at: Any, size: Any, texts: Any, home_at: Any, home_size: Any) -> Any:
    """Whether a list with commas has a cluster id as an element."""
    first = at
    for position in range(at, at + max(size, 0) + 1):
        if position < at + size and data[position] != _COMMA:
            continue
        if position - first == home_size and same(data, first, texts, home_at, home_size):
            return home_size > 0
        first = position + 1
    return False


@inlined
def _fits(data: Any, row: Any, texts: Any, matches: Any, rule: Any) -> Any:
    """Whether key and header are as a rule wants them."""
    if rule[program.KEYS] >= 0:
        at, size = row[rows.KEY_AT], row[rows.KEY_SIZE]
        if not _matches(data, at, size, texts, matches, rule[program.KEYS], rule[program.KEYS_END]):
            return False
    if rule[program.NAME_SIZE] < 0:
        return True
    at, size = _last_header(data, row, texts, rule[program.NAME_AT], rule[program.NAME_SIZE])
    first, end = rule[program.VALUES], rule[program.VALUES_END]
    if size == _NO_HEADER or first < 0:
        return size != _NO_HEADER
    return _matches(data, at, size, texts, matches, first, end)


@inlined
def _holds(data: Any, row: Any, texts: Any, flags: Any, matches: Any, rule: Any) -> Any:
    """Whether all conditions of a rule hold."""
    if rule[program.TOMBSTONE] and row[rows.VALUE_SIZE] >= 0:
        return False
    time, before, since = row[rows.TIME], rule[program.BEFORE], rule[program.SINCE]
    if (before != NO_END or since >= 0) and (
        time == _NO_TIME or (before != NO_END and time >= before) or (since >= 0 and time < since)
    ):
        return False
    if not _fits(data, row, texts, matches, rule):
        return False
    if rule[program.HOME_SIZE] < 0:
        return True
    at, size = _last_header(data, row, texts, rule[program.HOME_AT], rule[program.HOME_SIZE])
    home_at, home_size = flags[program.HOME], flags[program.HOME_LENGTH]
    return _names_home(data, at, size, texts, home_at, home_size)


@inlined
def dropping(data: Any, row: Any, texts: Any, flags: Any, drops: Any, matches: Any) -> Any:
    """Return the number of the first rule that leaves a record out, or -1.

    A record that no rule keeps has the number behind those of the rules that leave records out.
    """
    first = len(drops) - flags[program.KEEPS]
    for index in range(first):
        if _holds(data, row, texts, flags, matches, drops[index]):
            return np.int64(index)
    for index in range(first, len(drops)):
        if _holds(data, row, texts, flags, matches, drops[index]):
            return np.int64(-1)
    return np.int64(first if first < len(drops) else -1)
