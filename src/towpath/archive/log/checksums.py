"""The checksums inside log entries and checkpoints.

The hash in the next entry covers all entries but the newest one, and nothing covers a checkpoint.
So each object says twice that it has a checksum, far apart from each other: no change of few bytes
makes it look like one of an older Towpath, which has none. Checksums are looked at before anything
else of the bytes is believed.
"""

from __future__ import annotations

import hashlib
import re

from towpath.archive.errors import BrokenLogError

SAYS = "checksum"
"""The field that says that there is a checksum, with the name of its algorithm."""
ALGORITHM = "sha256"
CHANGED = "its bytes are not those that were written, as its checksum says"
BRING_BACK = "bring the object back that was here, from another region or a version of the bucket"
_DIGITS = 64
_HEAD = re.compile(rb'\{"v":\d+,"checksum":"sha256",')
_TAIL = re.compile(rb',"sha256":"([0-9a-f]{64})"\}')
_TAIL_SIZE = len(b',"sha256":""}') + _DIGITS
_MARK = b"towpath.sha256"
_VALUE = b"\x18\x40"
"""In Thrift's compact protocol: the next field, a text of 64 bytes."""
_NONE = b"0" * _DIGITS


def summed_entry(text: bytes) -> bytes:
    """Return an entry with its checksum appended: the SHA-256 of all bytes before the field.

    Args:
        text: An object of JSON that begins with `v` and the field `SAYS`.
    """
    body = text.removesuffix(b"}")
    return body + b',"%s":"%s"}' % (ALGORITHM.encode(), hashlib.sha256(body).hexdigest().encode())


def entry_is_summed(data: bytes, where: str) -> bool:
    """Verify the checksum of an entry; return whether the entry has one.

    Args:
        data: All bytes of the entry.
        where: The object, for messages.

    Raises:
        BrokenLogError: The entry has changed since it was written.
    """
    says = _HEAD.match(data) is not None
    found = _TAIL.fullmatch(data[-_TAIL_SIZE:])
    if found is None and not says:
        return False
    body = data[:-_TAIL_SIZE]
    if found is None or not says or found[1] != hashlib.sha256(body).hexdigest().encode():
        raise BrokenLogError(where, f"{CHANGED}; {BRING_BACK}")
    return True


def unsummed_metadata() -> dict[bytes, bytes]:
    """Return Parquet metadata with a placeholder for the checksum that `summed_file` writes."""
    return {_MARK: _NONE}


def summed_file(data: bytes) -> bytes:
    """Return a Parquet file with its checksum filled in; the hash covers zeros in its place.

    Args:
        data: The file, with `unsummed_metadata`.
    """
    at = _place(data)
    return data[:at] + hashlib.sha256(data).hexdigest().encode() + data[at + _DIGITS :]


def require_file(data: bytes, where: str) -> bool:
    """Verify the checksum of a Parquet file; return whether the file has one.

    Args:
        data: All bytes of the file.
        where: The object, for messages.

    Raises:
        BrokenLogError: The file has changed since it was written.
    """
    at = _place(data)
    if at < 0:
        return False
    found = data[at : at + _DIGITS]
    view = memoryview(data)
    made = hashlib.sha256(view[:at])
    made.update(_NONE)
    made.update(view[at + _DIGITS :])
    if made.hexdigest().encode() != found:
        raise BrokenLogError(where, CHANGED)
    return True


def _place(data: bytes) -> int:
    """Return where the checksum of a Parquet file is, -1 if it has none."""
    mark = _MARK + _VALUE
    at = data.rfind(mark)
    return at if at < 0 else at + len(mark)
