"""Values as messages speak of them: never by their place in memory."""

from __future__ import annotations

import re
from types import FunctionType, MethodType

PLACE = re.compile(r" at 0x[0-9a-fA-F]+")


def shown(value: object) -> str:
    """A function by its name; anything else as Python writes it, alike in each process."""
    if isinstance(value, FunctionType | MethodType):
        return "a lambda" if value.__name__ == "<lambda>" else f"the function {value.__name__}"
    return repr(value) if isinstance(value, str) else PLACE.sub("", repr(value))
