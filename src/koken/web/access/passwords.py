"""Passwords: hashed with argon2, and checked beside the event loop."""

from __future__ import annotations

import asyncio
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from koken.errors import InvalidArguments
from koken.model.names import folded

HASHER = PasswordHasher()
SHORTEST, LONGEST = 10, 1000


def hashed(password: str, name: str) -> str:
    """A password as it is kept. Raises ``InvalidArguments`` for one that is easily guessed."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidArguments(
            f"a password has {SHORTEST} to {LONGEST:,} characters", {"password": "its length"}
        )
    if folded(password) == folded(name):
        raise InvalidArguments("a password is not the name", {"password": "it is the name"})
    return HASHER.hash(password)


async def is_right(password: str, kept: str | None) -> bool:
    """Whether that is the password; takes as long where there is none to compare it with."""
    right = await asyncio.to_thread(matches, password[: LONGEST + 1], kept)
    return right and kept is not None


def matches(password: str, kept: str | None) -> bool:
    """Whether a password is the one that was hashed; None: compared with nobody's."""
    try:
        return HASHER.verify(kept or nobodys(), password)
    except (VerificationError, InvalidHashError):
        return False


@cache
def nobodys() -> str:
    """The hash of a password that nobody has."""
    return HASHER.hash("nobody has this password")
