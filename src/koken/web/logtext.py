"""The log of a run as a file: read and sent bit by bit, however long it is."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

from koken.views import logpages
from koken.views.logpages import Sieve
from koken.views.treelogs import Said
from koken.web.visit import Visit

BATCH = 2000
"""Lines that are read at once."""
STEERING = re.compile(
    r"(?:\x1b\[|\x9b)[0-9;:?<=>]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0)) if code != ord("\t")}


def unsteering(text: str) -> str:
    """A text without what steers a terminal."""
    return STEERING.sub("", text).translate(CONTROLS)


def line_of(said: Said, *, ansi: bool) -> str:
    """``2026-11-30T18:02:11.000+00:00 INFO table[3] | no arrival time``."""
    line = said.line
    who = f"{said.who} | " if said.who else ""
    text = line.text if ansi else unsteering(line.text)
    at = line.at.isoformat(timespec="milliseconds")
    return f"{at} {line.level.upper()} {who}{text}\n"


async def whole(
    visit: Visit, names: Mapping[int, str], *, ansi: bool, sieve: Sieve
) -> AsyncIterator[bytes]:
    """The lines of these runs that are wanted, oldest first; ``names`` are as ``treelogs.tree``
    gives them."""
    number: int | None = 0
    while number is not None:
        page = await logpages.after(visit.views, names, number, limit=BATCH, sieve=sieve)
        number = page.newer
        if page.lines:
            told = "".join(line_of(said, ansi=ansi) for said in page.lines)
            yield told.encode("utf-8", "replace")
