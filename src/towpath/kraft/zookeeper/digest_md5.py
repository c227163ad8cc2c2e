"""ZooKeeper login with name and password: SASL with DIGEST-MD5 (RFC 2831).

kazoo leaves it to a library that nobody maintains; the exchange has two steps.
"""

from __future__ import annotations

import hashlib
import re
import secrets

from towpath.model.secret import Secret

_PART = re.compile(rb'\s*([A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]+))\s*(?:,|$)')


class Exchange:
    """The exchange of messages for one login."""

    def __init__(self, username: str, password: Secret, service: str, host: str) -> None:
        self._username, self._password = username, password
        self._uri = f"{service}/{host}".encode()
        self._proof: bytes | None = None

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the answer to a server's challenge, `None` if nothing is left to send.

        Raises:
            ValueError: The server asks for something else, or does not know the password.
        """
        parts = _parts(challenge)
        if self._proof is None:
            return self._answer(parts)
        if parts.get(b"rspauth") != self._proof:
            raise ValueError("the server does not prove that it knows the password")
        return None

    def _answer(self, parts: dict[bytes, bytes]) -> bytes:
        if b"nonce" not in parts or parts.get(b"algorithm", b"md5-sess") != b"md5-sess":
            raise ValueError("the server does not ask for DIGEST-MD5")
        nonce, realm = parts[b"nonce"], parts.get(b"realm", b"")
        own, count = secrets.token_hex(16).encode(), b"00000001"
        key = self._key(realm, nonce, own)
        trail = b":".join((nonce, count, own, b"auth"))
        self._proof = _hex(b":".join((key, trail, _hex(b":" + self._uri))))
        proof = _hex(b":".join((key, trail, _hex(b"AUTHENTICATE:" + self._uri))))
        told = {
            b"username": _quoted(self._username.encode()),
            b"realm": _quoted(realm),
            b"nonce": _quoted(nonce),
            b"cnonce": _quoted(own),
            b"nc": count,
            b"qop": b"auth",
            b"digest-uri": _quoted(self._uri),
            b"response": proof,
            b"charset": b"utf-8",
        }
        return b",".join(name + b"=" + value for name, value in told.items())

    def _key(self, realm: bytes, nonce: bytes, own: bytes) -> bytes:
        name, password = self._username.encode(), self._password.reveal().encode()
        secret = _md5(b":".join((name, realm, password)))
        return _hex(b":".join((secret, nonce, own)))


def _parts(challenge: bytes) -> dict[bytes, bytes]:
    return {
        match[1].lower(): re.sub(rb"\\(.)", rb"\1", match[2]) if match[3] is None else match[3]
        for match in _PART.finditer(challenge)
    }


def _quoted(value: bytes) -> bytes:
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", value) + b'"'


def _md5(text: bytes) -> bytes:
    return hashlib.md5(text, usedforsecurity=False).digest()


def _hex(text: bytes) -> bytes:
    return _md5(text).hex().encode()
