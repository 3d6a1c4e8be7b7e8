"""What programs and browsers show to be let in, and what stands for it in the database."""

from __future__ import annotations

from hashlib import sha256

TOKEN = "koken_"
"""How tokens begin."""


def hashed(text: str) -> bytes:
    """What stands for a text in the database: a session or a token, both 256 random bits."""
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
