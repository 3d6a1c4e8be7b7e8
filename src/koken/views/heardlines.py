"""The lines of a tree for somebody who goes away and comes back: none lost, and none twice.

Lines are numbered before they are committed. One worker commits them in the order of their
numbers, several do not: beside the last line heard, a listener keeps for each run that another
worker carries out how far it has heard that one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from koken.errors import InvalidArguments
from koken.store.database import Database
from koken.views import treelogs
from koken.views.reading import rows
from koken.views.treelogs import Place, Said

PAGE = 1000
MARK = re.compile(r"\d{1,18}(;\d{1,18}:\d{1,18})*")
CARRIED = """
select r.id, r.worker_id, r.state = 'running' as goes from koken.run r
 where r.id = any($1::bigint[]) and (r.state = 'running' or r.id = any($2::bigint[]))
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """How far somebody has heard: up to a line, but for the runs that are named."""

    line: int
    but: Mapping[int, int]

    @classmethod
    def read(cls, text: str) -> Heard:
        """From ``9001`` or ``9001;412:8990``. Raises ``InvalidArguments``."""
        if not MARK.fullmatch(text):
            raise InvalidArguments(f"{text[:40]!r} is not the id of a line of a stream")
        line, *but = text.split(";")
        pairs = (each.split(":") for each in but)
        return cls(int(line), {int(run): int(last) for run, last in pairs})

    def __str__(self) -> str:
        """As a text; the number of the line alone, where it says all."""
        return ";".join([str(self.line), *(f"{run}:{last}" for run, last in self.but.items())])


@dataclass(frozen=True, slots=True)
class Listener:
    """Up to where somebody has heard, and which runs may have written lines not yet to be seen."""

    place: Place
    open: Mapping[int, int | None] = field(default_factory=dict)
    """Runs that went at the last look, each with its worker."""


def again(root: int, heard: Heard) -> Listener:
    """Somebody who has heard so much before."""
    return Listener(Place(root, {}, heard.but, heard.line))


async def anew(db: Database, root: int, *, last: int) -> Listener:
    """Somebody who wants the last lines first."""
    if last == 0:
        _, place = await treelogs.tail(db, root, limit=0)
        return Listener(place)
    found, place = await treelogs.tail(db, root, limit=last)
    before = found[0].line.id - 1 if found else 0
    return Listener(replace(place, last={run: min(end, before) for run, end in place.last.items()}))


async def after(db: Database, listener: Listener) -> tuple[list[tuple[Said, Heard]], Listener]:
    """Some of the lines that have come since, each with how far one has heard then."""
    found, place = await treelogs.after(db, listener.place, limit=PAGE)
    speaking = list({each.run_id for each in found})
    carried = await rows(db, CARRIED, list(place.names), speaking)
    workers = {row["id"]: row["worker_id"] for row in carried}
    going = {row["id"]: row["worker_id"] for row in carried if row["goes"]}
    suspects = {**listener.open, **going}
    heard = dict(listener.place.last)
    farthest = max(heard.values(), default=0)
    told = []
    for said in found:
        line, run = said.line.id, said.run_id
        heard[run] = line
        but = {
            each: heard.get(each, listener.place.since)
            for each, worker in suspects.items()
            if each != run and (worker is None or worker != workers.get(run))
        }
        if line < farthest:
            but |= {each: last for each, last in heard.items() if last > line}
        farthest = max(farthest, line)
        told.append((said, Heard(line, but)))
    return told, Listener(place, going)
