"""Signed tokens (JWT, RFC 7519), as identity providers make them and registries check them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from towpath.runtime.clock import now_ms

_ISSUER, _AUDIENCE = "tests", "schema-registry"


class Signer:
    """Signs tokens with a key of its own (ES256).

    Args:
        folder: Where its public key goes.
    """

    def __init__(self, folder: Path) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        folder.mkdir(parents=True, exist_ok=True)
        self._public = folder / "tokens.pub"
        form = PublicFormat.SubjectPublicKeyInfo
        self._public.write_bytes(self._key.public_key().public_bytes(Encoding.PEM, form))

    def token(self, name: str, role: str, life: float, audience: str = _AUDIENCE) -> str:
        """Return a token.

        Args:
            name: Whose it is.
            role: What its owner may do at a registry.
            life: Seconds until it expires.
            audience: Whom it is for.
        """
        claims = {
            "sub": name,
            "role": role,
            "iss": _ISSUER,
            "aud": audience,
            "exp": int(now_ms() / 1000 + life),
        }
        text = f"{_part({'alg': 'ES256', 'typ': 'JWT'})}.{_part(claims)}"
        pair = utils.decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(SHA256())))
        return f"{text}.{_word(b''.join(each.to_bytes(32) for each in pair))}"

    @property
    def security(self) -> dict[str, Any]:
        """The section `security.auth` of a registry that lets only these tokens in."""
        return {
            "enabled": True,
            "methods": ["jwt"],
            "jwt": {
                "issuer": _ISSUER,
                "audience": _AUDIENCE,
                "public_key_file": str(self._public),
                "algorithm": "ES256",
            },
            "rbac": {"enabled": True, "default_role": "readonly"},
        }


def _part(content: Mapping[str, Any]) -> str:
    return _word(json.dumps(content).encode())


def _word(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
