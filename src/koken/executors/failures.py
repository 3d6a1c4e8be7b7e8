"""Errors of bodies as they are stored: their text, their kinds, and whether they are final."""

from __future__ import annotations

import traceback

from koken.model import codec
from koken.model.runparts import Failure

NEVER_AGAIN = "koken.never_retry"
"""Among the kinds of an error that no attempt is to follow."""
FINAL = "koken_final"
"""Marks such an error."""


def failure_of(error: BaseException) -> Failure:
    """An error as it is stored."""
    return Failure(
        type=type(error).__qualname__,
        message=codec.clean(message_of(error)),
        traceback=codec.clean_end("".join(traceback.format_exception(error))),
    )


def kinds_of(error: BaseException) -> tuple[str, ...]:
    """The qualified names of an error's class and that class's bases."""
    kinds = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return final(error, tuple(kinds))


def final(error: BaseException, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """With the mark of an error that no attempt is to follow, if it is one."""
    marked = getattr(error, FINAL, False) and NEVER_AGAIN not in kinds
    return (*kinds, NEVER_AGAIN) if marked else kinds


def message_of(error: BaseException) -> str:
    """The message of an error whose own ``__str__`` may fail."""
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__qualname__} whose message cannot be shown>"
