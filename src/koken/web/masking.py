"""Values that nobody is shown: passwords and their like among arguments, by the names they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MASK = "•••"
"""What stands in place of such a value."""


def masked(plain: Any, parts: Sequence[str]) -> Any:
    """Plain values without the secrets among them: what stands under a key with one of ``parts``.

    However deep they are, and without regard to case. None and what is empty stay: that nothing
    was given is no secret.
    """
    return hidden(plain, tuple(spelled(part) for part in parts))


def hidden(plain: Any, parts: Sequence[str]) -> Any:
    """As ``masked``, with the parts as they are compared."""
    if isinstance(plain, Mapping):
        return {
            key: MASK if secret(key, parts) and given(item) else hidden(item, parts)
            for key, item in plain.items()
        }
    if isinstance(plain, list | tuple):
        return [hidden(item, parts) for item in plain]
    return plain


def secret(key: Any, parts: Sequence[str]) -> bool:
    """Whether a key names something that nobody is shown."""
    name = spelled(str(key))
    return any(part in name for part in parts)


def spelled(name: str) -> str:
    """A name as it is compared: ``API-Key`` and ``api_key`` are one."""
    return name.lower().replace("-", "_")


def given(item: Any) -> bool:
    """Whether there is anything to hide."""
    return item is not None and item not in ("", [], {})
