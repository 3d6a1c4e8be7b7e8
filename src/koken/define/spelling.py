"""Near misses: what somebody who misspelt a name may have meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from itertools import islice
from typing import ParamSpec, TypeVar

HINTS = 5
"""Names of several that are wrong for which the right one is looked for."""
LONGEST = 200
"""Characters of such a name."""
P = ParamSpec("P")
R = TypeVar("R")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like ``name``; None when none is like it."""
    names = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(name[:LONGEST].casefold(), names, n=1)
    return names[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``" Did you mean day?"``, or nothing; to put at the end of a message."""
    found = nearest(name, known)
    return f" Did you mean {found}?" if found else ""


def meant(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """What ``did_you_mean`` says of several names: of the first few, for each is looked up."""
    found = dict.fromkeys(names, "")
    there = tuple(known)
    for name in islice(found, HINTS):
        found[name] = did_you_mean(name, there)
    return found


def spelt(method: Callable[P, R]) -> Callable[P, R]:
    """``method``, answering an unknown keyword with the one that may be meant."""
    known = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]

    @functools.wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                meant = nearest(name, known)
                hint = f'did you mean "{meant}"?' if meant else f"it takes {', '.join(known)}"
                raise TypeError(f'{method.__name__}() has no option "{name}"; {hint}')
        return method(*args, **kwargs)

    return checked
