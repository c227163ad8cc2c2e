"""Properties files of brokers and controllers: read as Java does, changed key by key.

Kafka reads them with `Properties.load(InputStream)`: ISO 8859-1, escapes, lines that go on.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

from javaproperties import InvalidUEscapeError, PropertiesFile

from towpath.model.foreign import foreign

_ENCODING = "iso-8859-1"


class PropertiesFormError(ValueError):
    """A file that Java would refuse: it has a wrong escape."""


def read_properties(data: bytes) -> Mapping[str, str]:
    """Return the keys and values; of a key that stands twice the last value counts, as in Java.

    Raises:
        PropertiesFormError: An escape of `u` is not followed by four hexadecimal digits.
    """
    return dict(_file(data))


def change_properties(data: bytes, changes: Mapping[str, str | None]) -> bytes:
    """Return the file with other values, and all of its comments and order.

    Args:
        data: The file.
        changes: New values by key; None removes a key. New keys are added at the end.

    Raises:
        PropertiesFormError: As `read_properties` does.
    """
    if data and not data.endswith(b"\n"):
        data += b"\n"
    file = _file(data)
    for key, value in changes.items():
        if value is None:
            file.pop(key, None)
        elif file.get(key) != value:
            file[key] = value
    return file.dumps(separator="=").encode(_ENCODING)


def _file(data: bytes) -> PropertiesFile:
    try:
        return PropertiesFile.load(io.StringIO(data.decode(_ENCODING)))
    except InvalidUEscapeError as error:
        raise PropertiesFormError(foreign(error)) from error
