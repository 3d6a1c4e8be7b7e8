"""Names of users and tokens: which are good, and when two of them are the same."""

from __future__ import annotations

import unicodedata

LONGEST = 100
"""Characters of a name."""


def folded(name: str) -> str:
    """What a name is compared by: ``Mira``, ``MIRA`` and its full-width letters are one.

    This is the one place where names are folded: the database compares what comes out of here,
    for its own idea of upper and lower case is another one, and depends on its locale.
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", plain)


def fault(name: str) -> str | None:
    """Why that is no name; None where it is one.

    What cannot be seen, or turns what stands beside it around, could show one name as another.
    """
    if not 1 <= len(name) <= LONGEST:
        return f"has {len(name)} characters; names have 1 to {LONGEST}"
    if folded(name) in (".", ".."):
        return "is what an address has for a place; names are something else"
    if folded(name) == "*":
        return "is *, which stands for all"
    if any(each.isspace() for each in name):
        return "has a blank; names have none"
    if not name.isprintable():
        return "has a character that cannot be seen; names have none"
    return None
