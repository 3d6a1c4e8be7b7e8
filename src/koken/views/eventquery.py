"""The query of lists of events: ``verb:cancel by:anna job:report run:412 since:2h disk``.

Words with a colon narrow the list; a bare word is looked for in the reason.
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from typing import Any

from koken.errors import InvalidArguments
from koken.model.codec import ODD
from koken.views.moments import before, moment
from koken.views.query import WORD, is_id, refused, unquoted, values

WORDS = ("verb", "by", "job", "run", "since", "until")


def parse(text: str, now: datetime | None = None) -> dict[str, Any]:
    """What a query says, as ``events.of_workspace`` takes it. Raises ``InvalidArguments``."""
    if odd := ODD.search(text):
        raise InvalidArguments(f"the query holds {odd[0]!r}, which PostgreSQL cannot read")
    found: dict[str, Any] = {}
    bare: list[str] = []
    for match in WORD.finditer(text):
        word, value = match[1], match[2]
        if match[3] is not None:
            bare.append(unquoted(match[3]))
        elif not value:
            raise refused(word, "needs a value, such as verb:cancel")
        else:
            found[word] = read(word, value, now or datetime.now(UTC))
    return {**found, "text": " ".join(bare)} if bare else found


def read(word: str, value: str, now: datetime) -> Any:
    """The value of one word, as it is written."""
    if word in ("verb", "by", "job"):
        return values(value)
    value = unquoted(value)
    if word == "run":
        if not is_id(value):
            raise refused("run", f"{value!r} is no run's number")
        return int(value)
    if word in ("since", "until"):
        return before(moment(word, value), now)
    close = difflib.get_close_matches(word, WORDS, n=1)
    hint = f" Did you mean {close[0]}:?" if close else f" There are {', '.join(WORDS)}."
    raise refused(word, f"is no word of this query.{hint}")
