"""Signed calls of other systems: how a hook's secret is made, what a good signature is. Pure."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

SCHEMES = ("standard", "github")
TOLERANCE = 300.0
"""Seconds by which the time in a call may be off."""
LONGEST = 200
"""Characters of a delivery's id that are kept as they are."""
PREFIX = "whsec_"
PATH = "/api/v1/hooks"


class BadSignature(Exception):
    """A call that is not from who has the secret, or not from now."""


class OffTime(BadSignature):
    """A call from who has the secret, and not from now: its sender may be told so."""


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret that a hook was just given. It is told this once."""

    name: str
    """The hook's."""
    secret: str = field(repr=False)

    def url(self, base: str) -> str:
        """Where calls go, at the doors that others reach under ``base``."""
        return f"{base}{PATH}/{self.name}"

    def to_json(self, base: str) -> dict[str, Any]:
        """As plain values; no address, where nobody has said under which others reach the doors."""
        return {
            "name": self.name,
            "url": self.url(base) if base else None,
            "secret": self.secret,
        }


def secret(door_key: bytes, number: int, salt: UUID) -> bytes:
    """The secret of a hook; kept nowhere, made anew from what stands in the database."""
    return hmac.new(
        door_key, b"hook\0" + str(number).encode() + salt.bytes, hashlib.sha256
    ).digest()


def shown(scheme: str, key: bytes) -> str:
    """A secret as it is given to the other system."""
    return PREFIX + b64encode(key).decode() if scheme == "standard" else key.hex()


def delivery(
    scheme: str, key: bytes, headers: Mapping[str, str], body: bytes, *, now: float
) -> str:
    """The id of a call that is signed with ``key``. Raises ``BadSignature``.

    ``headers`` are found without regard to case.
    """
    return (standard if scheme == "standard" else github)(key, headers, body, now)


def standard(key: bytes, headers: Mapping[str, str], body: bytes, now: float) -> str:
    """As Standard Webhooks has it: any of several signatures, and a time that is now."""
    name = headers.get("webhook-id", "")
    at = headers.get("webhook-timestamp", "")
    text = f"{name}.{at}.".encode("utf-8", "surrogateescape") + body
    wanted = hmac.new(key, text, hashlib.sha256).digest()
    good = False
    for each in headers.get("webhook-signature", "").split():
        version, _, given = each.partition(",")
        same = hmac.compare_digest(decoded(given), wanted)
        good = good or (same and version == "v1")
    if not good or not name:
        raise BadSignature("the signature does not fit")
    if not (at.isascii() and at.isdigit() and len(at) < 16 and abs(int(at) - now) <= TOLERANCE):
        raise OffTime("its time is more than five minutes off")
    return short(name)


def github(key: bytes, headers: Mapping[str, str], body: bytes, now: float) -> str:
    """As GitHub has it: a signature of the body alone."""
    wanted = "sha256=" + hmac.new(key.hex().encode(), body, hashlib.sha256).hexdigest()
    given = headers.get("x-hub-signature-256", "")
    name = headers.get("x-github-delivery", "")
    good = hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())
    if not good or not name:
        raise BadSignature("the signature does not fit")
    return short(name)


def decoded(text: str) -> bytes:
    """Base64 as bytes; what is none gives none."""
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        return b""


def short(name: str) -> str:
    """A delivery's id, or what stands for one that is long."""
    return name if len(name) <= LONGEST else hashlib.sha256(name.encode()).hexdigest()
