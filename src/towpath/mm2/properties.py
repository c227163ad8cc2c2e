"""Java's properties files: keys and values as `java.util.Properties.load` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from towpath.model.foreign import foreign

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE = re.compile(r"[0-9A-Fa-f]{4}")


@dataclass(frozen=True, slots=True)
class Property:
    """A key with its value; the value may be a secret, so it is never shown as it is.

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
    r"""Return the properties of a text in order; of several with one key, the last one counts.

    Raises:
        ValueError: A `\u` is not followed by four hexadecimal digits; the text names the line.
    """
    found: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        try:
            made = Property(_unescaped(key), _unescaped(value), number)
        except ValueError as error:
            raise ValueError(f"line {number}: {foreign(error)}") from None
        found.pop(made.key, None)
        found[made.key] = made
    return tuple(found.values())


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines without comments; one that ends with a backslash goes on in the next one."""
    begun, number = "", 0
    for at, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.lstrip(_BLANK)
        if not begun:
            if not line or line[0] in "#!":
                continue
            number = at
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            # A continued line may be blank so far, and is still begun.
            begun += line[:-1] or "\0"
            continue
        yield number, (begun + line).replace("\0", "")
        begun = ""
    if begun.replace("\0", ""):
        yield number, begun.replace("\0", "")


def _split(line: str) -> tuple[str, str]:
    """Split a line at the first `=`, `:` or blank that no backslash stands before."""
    at = 0
    while at < len(line) and line[at] not in "=:" + _BLANK:
        at += 2 if line[at] == "\\" else 1
    key, rest = line[:at], line[at:].lstrip(_BLANK)
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(_BLANK)
    return key, rest


def _unescaped(text: str) -> str:
    parts, at = [], 0
    while at < len(text):
        if text[at] != "\\":
            parts.append(text[at])
            at += 1
            continue
        letter = text[at + 1 : at + 2]
        if letter == "u":
            digits = text[at + 2 : at + 6]
            if not _UNICODE.fullmatch(digits):
                raise ValueError("\\u is not followed by four hexadecimal digits")
            parts.append(chr(int(digits, 16)))
            at += 6
        else:
            parts.append(_ESCAPES.get(letter, letter))
            at += 2
    # Java's characters are units of UTF-16, so two escapes may make one character.
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
