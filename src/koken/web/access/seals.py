"""What the doors sign with the door key: proof that a form or a cookie is their own."""

from __future__ import annotations

import hmac
import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from contextvars import ContextVar
from hashlib import sha256
from typing import Any

from koken.web.access.principal import Principal

SIGNED_WITH: ContextVar[bytes] = ContextVar("koken.door_key", default=b"")
"""The door key, where a request is at hand: ``visit`` puts it here."""


def signature(key: bytes, purpose: str, text: bytes) -> str:
    """Proof that this text is ours; what was signed for one purpose is good for no other."""
    return hmac.new(key, purpose.encode() + b"\0" + text, sha256).hexdigest()


def same(given: str, wanted: str) -> bool:
    """Whether two proofs are the same; takes as long whatever is given."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def csrf(key: bytes, principal: Principal) -> str:
    """What a form must bring back: known to pages that this person got from us, to no other."""
    return signature(key, "csrf", bearing(principal))


def bearing(principal: Principal) -> bytes:
    """What stands for somebody: their session, or who they are where there is none."""
    return principal.session or f"{principal.kind} {principal.name}".encode()


def sealed(key: bytes, purpose: str, values: Mapping[str, Any], *, seconds: float) -> str:
    """Values as a text that a browser can keep and not change; good for so long."""
    plain = json.dumps({**values, "until": time.time() + seconds}).encode()
    front = urlsafe_b64encode(plain).decode().rstrip("=")
    return f"{front}.{signature(key, purpose, plain)}"


def unsealed(key: bytes, purpose: str, text: str) -> dict[str, Any] | None:
    """The values of such a text; None where it is not ours, was changed, or is too old."""
    front, _, proof = text.partition(".")
    try:
        plain = urlsafe_b64decode(front.encode() + b"=" * (-len(front) % 4))
    except ValueError:
        return None
    if not same(proof, signature(key, purpose, plain)):
        return None
    values: dict[str, Any] = json.loads(plain)
    return values if values.pop("until") > time.time() else None
