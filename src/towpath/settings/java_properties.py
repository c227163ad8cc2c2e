"""Java properties files of brokers and tools: parsed, and changed key by key.

Kafka reads its own with `Properties.load(InputStream)`: ISO 8859-1, escapes, lines that go on.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

import javaproperties
from javaproperties import InvalidUEscapeError, KeyValue, PropertiesFile, join_key_value

from towpath.model.foreign import foreign

_ENCODING = "iso-8859-1"
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE = re.compile(r"(?P<key>(?:[^\\=]|\\.)*)=(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_NEEDLESS = frozenset(":=#!")
"""What begins no comment and ends no key in a value."""


class PropertiesFormError(ValueError):
    """A properties file has an escape that Java would reject."""


@dataclass(frozen=True, slots=True)
class Property:
    """A key with its value; the value may be a secret, so it is never shown.

    Attributes:
        key: The key.
        value: The value, without blanks before it.
        line: The number of its first line, from 1.
    """

    key: str
    value: str
    line: int

    def __repr__(self) -> str:
        return f"Property({self.key!r}, line {self.line})"


def parse(text: str) -> tuple[Property, ...]:
    r"""Parse properties in order; the last value of a repeated key counts.

    Raises:
        PropertiesFormError: A `\u` is not followed by four hexadecimal digits; the text names the
            line.
    """
    found: dict[str, Property] = {}
    number = 1
    try:
        for each in javaproperties.parse(text):
            if isinstance(each, KeyValue):
                made = Property(_whole(each.key), _whole(each.value), number)
                found.pop(made.key, None)
                found[made.key] = made
            number += len(_LINE_END.findall(each.source))
    except InvalidUEscapeError:
        what = r"\u is not followed by four hexadecimal digits"
        raise PropertiesFormError(f"line {number}: {what}") from None
    return tuple(found.values())


def _whole(text: str) -> str:
    """Return a text whose characters are whole: Java's are units of UTF-16, as escapes are."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_properties(data: bytes) -> Mapping[str, str]:
    """Parse keys and values; the last value of a repeated key counts, as in Java.

    Raises:
        PropertiesFormError: An escape of `u` is not followed by four hexadecimal digits.
    """
    return dict(_file(data))


def change_properties(data: bytes, changes: Mapping[str, str | None]) -> bytes:
    """Change values in a properties file, keeping its comments and order.

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
    text = file.dumps(separator="=")
    for key, value in changes.items():
        if value is not None:
            line = join_key_value(key, value, separator="=")
            text = text.replace(f"{line}\n", f"{_plain(line)}\n")
    return text.encode(_ENCODING)


def _plain(line: str) -> str:
    """Return a line whose value is not escaped where Java does not ask for it.

    Programs that are not Java read such files, too, and people compare them.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return line
    value = _ESCAPE.sub(lambda each: each[1] if each[1] in _NEEDLESS else each[0], match["value"])
    return f"{match['key']}={value}"


def _file(data: bytes) -> PropertiesFile:
    try:
        return PropertiesFile.load(io.StringIO(data.decode(_ENCODING)))
    except InvalidUEscapeError as error:
        raise PropertiesFormError(foreign(error)) from error
