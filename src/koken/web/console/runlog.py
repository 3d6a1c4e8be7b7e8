"""The log of a run: a page of its lines, searched and sifted, and what comes as it comes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from koken.model.run import Run
from koken.model.states import State
from koken.views import heardlines, logpages, runs, treelogs
from koken.views.heardlines import Heard
from koken.views.logpages import LAST_ID, LEVELS, STREAMS, LogPage, Sieve
from koken.views.query import is_id
from koken.views.steps import StepRow
from koken.views.treelogs import Said
from koken.web.access.door import Someone
from koken.web.console import ansi
from koken.web.console.pages import clock, environment, zone_of
from koken.web.house import House
from koken.web.live.stream import COMMENT, Live, event, last_seen, reading
from koken.web.live.topics import OfLog

router = APIRouter()
LIMIT = 300
"""Lines of a page."""
BEFORE_ERROR = 20
"""Lines that stand before that with which an error begins."""
AROUND = 100
"""Lines that stand before one to which a link leads."""
LOUD = ("warning", "error", "critical")
"""Levels that are told in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose lines are shown."""

    run_id: int
    names: Mapping[int, str]
    """The runs, and what each is called."""
    step: str = ""
    """The step that it is, where it is not all of the run."""
    chosen: bool = False
    """Whether somebody has chosen that; else it is what failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line as it is drawn."""

    said: Said
    pieces: Sequence[tuple[str, str]]
    level: bool = False
    """Whether its level is told: where it is telling, and not that of the line before."""
    attempt: int = 0
    """The attempt that begins with it; 0: none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A part of a log as a page shows it."""

    scope: Scope
    sieve: Sieve
    page: LogPage
    rows: Sequence[Row]
    from_error: bool
    """Whether it begins where the error does."""
    marked: int
    """The line to which a link has led."""
    follows: bool
    """Whether what comes is added."""
    last: int
    """The number of its last line."""

    def url(self, **more: str | int) -> str:
        """The address of another part of it."""
        given = {"tab": "log", "step": self.scope.step if self.scope.chosen else ""}
        kept = {"log_q": self.sieve.text, "level": self.sieve.level, "stream": self.sieve.stream}
        query = {name: value for name, value in {**given, **kept, **more}.items() if value}
        return f"?{urlencode(query)}"

    def link(self, line: int) -> str:
        """The address of one line."""
        return f"{self.url(at=line)}#L{line}"

    @property
    def live(self) -> str:
        """Where what comes is to be had."""
        return f"/runs/{self.scope.run_id}/log/live{self.url(after=self.last)}"


def number(params: QueryParams, name: str) -> int | None:
    """A number among the parameters."""
    text = params.get(name, "")
    return int(text) if is_id(text) else None


def sieve_of(params: QueryParams) -> Sieve:
    """Which lines somebody wants to see."""
    level, stream = params.get("level", ""), params.get("stream", "")
    return Sieve(
        text=params.get("log_q", "").replace("\0", "")[:200],
        level=level if level in LEVELS[1:] else "",
        stream=stream if stream in STREAMS else "",
    )


async def scope_of(
    house: House, run: Run[Any], rows: Sequence[StepRow], params: QueryParams
) -> Scope:
    """Whose lines are wanted: of a step that is named, else of what failed, else of all."""
    step = params.get("step", "")
    row = next((row for row in rows if row.name == step and row.run_id is not None), None)
    chosen = row is not None
    told = {"at", "before", "after", "log_q"} & params.keys()
    if row is None and not told and params.get("of") != "all" and run.state is State.FAILED:
        failed = [each for each in rows if each.state is State.FAILED and each.run_id is not None]
        row = failed[0] if failed else None
    if row is None or row.run_id is None:
        return Scope(run_id=run.id, names=await treelogs.tree(house.views, run.id))
    names = await treelogs.tree(house.views, row.run_id)
    return Scope(run_id=run.id, names=names, step=row.name, chosen=chosen)


async def log_of(house: House, run: Run[Any], rows: Sequence[StepRow], params: QueryParams) -> Log:
    """The part of a log that is asked for; of a run that failed from its error on, else the end."""
    scope, sieve, db = await scope_of(house, run, rows, params), sieve_of(params), house.views
    before, after, at = (number(params, name) for name in ("before", "after", "at"))
    from_error = False
    if at is not None:
        page = await joined(house, scope, at, sieve, AROUND)
    elif before is not None:
        page = await logpages.before(db, scope.names, before, limit=LIMIT, sieve=sieve)
    elif after is not None:
        page = await logpages.after(db, scope.names, after, limit=LIMIT, sieve=sieve)
    else:
        first = next(iter(scope.names))
        failed = run.state is State.FAILED and sieve.open and (scope.step or not rows)
        begins = await logpages.error_of(db, first) if failed else None
        from_error = begins is not None
        page = (
            await joined(house, scope, begins, sieve, BEFORE_ERROR)
            if begins is not None
            else await logpages.before(db, scope.names, LAST_ID, limit=LIMIT, sieve=sieve)
        )
    last = page.lines[-1].line.id if page.lines else after or 0
    return Log(
        scope=scope,
        sieve=sieve,
        page=page,
        rows=drawn(page.lines, sieve),
        from_error=from_error,
        marked=at or 0,
        follows=not run.state.ended and page.newer is None,
        last=last,
    )


async def joined(house: House, scope: Scope, at: int, sieve: Sieve, most: int) -> LogPage:
    """Some lines before one, and those from it on."""
    db, names = house.views, scope.names
    head = await logpages.before(db, names, at, limit=most, sieve=sieve)
    tail = await logpages.after(db, names, at - 1, limit=LIMIT - most, sieve=sieve)
    return replace(
        tail,
        lines=[*head.lines, *tail.lines],
        older=head.older,
        looked=head.looked + tail.looked,
    )


def drawn(lines: Sequence[Said], sieve: Sieve, known: Mapping[int, int] | None = None) -> list[Row]:
    """Lines as they are drawn; ``known``: the attempts at runs that are told already."""
    tries = dict(known or {})
    found: list[Row] = []
    last: tuple[int, str] = (0, "")
    for said in lines:
        before = tries.get(said.run_id, said.tries if said.tries == 0 else -1)
        tries[said.run_id] = said.tries
        begins = said.tries + 1 if before != said.tries else 0
        pieces = lit(ansi.pieces(said.line.text), sieve.text)
        level = said.line.level in LOUD and last != (said.run_id, said.line.level)
        last = (said.run_id, said.line.level)
        found.append(Row(said=said, pieces=pieces, level=level, attempt=begins))
    return found


def lit(pieces: Sequence[ansi.Piece], text: str) -> Sequence[ansi.Piece]:
    """Pieces in which what is searched for has a class of its own."""
    if not text:
        return pieces
    hit = re.compile(f"({re.escape(text)})", re.IGNORECASE)
    return [
        (f"{classes} hit".lstrip() if place % 2 else classes, part)
        for classes, whole in pieces
        for place, part in enumerate(hit.split(whole))
        if part
    ]


@router.get("/runs/{named}/log/live")
async def live(request: Request, named: str, visit: Someone) -> Response:
    """The lines that come, each lot drawn, as server-sent events."""
    there, run = await visit.run(named)
    params, zone, house = request.query_params, zone_of(request), there.house
    sieve, step, tries = sieve_of(params), params.get("step", ""), dict[int, int]()
    seen = last_seen(request)
    after = number(params, "after") or 0
    heard = Heard(after, {}) if seen is None else Heard.read(seen)

    async def tell(versions: AsyncIterator[str | None]) -> AsyncIterator[str]:
        listener, so_far = heardlines.again(run.id, heard), str(heard)
        async for version in versions:
            if version is None:
                yield COMMENT
                continue
            state = (await runs.states(house.views, [run.id])).get(run.id)
            told, listener = await heardlines.after(house.views, listener)
            while told:
                so_far = str(told[-1][1])
                lines = narrowed([said for said, _ in told], step)
                rows = drawn([each for each in lines if passes(each, sieve)], sieve, tries)
                tries.update({each.run_id: each.tries for each in lines})
                if rows:
                    yield event("lines", draw(rows, zone), so_far)
                told, listener = await heardlines.after(house.views, listener)
            if state is None or state.ended:
                yield event("over", "", so_far)
                return

    return Live(request, OfLog(run.id), tell, may=reading(there.workspace))


def narrowed(found: Sequence[Said], step: str) -> Sequence[Said]:
    """The lines of a step among those of a tree, called as from there."""
    if not step:
        return found
    below = f"{step} → "
    return [
        replace(each, who="" if each.who == step else each.who.removeprefix(below))
        for each in found
        if each.who == step or each.who.startswith((f"{step}[", below))
    ]


def passes(said: Said, sieve: Sieve) -> bool:
    """Whether a line is wanted."""
    line, levels = said.line, sieve.levels
    return (
        sieve.text.lower() in line.text.lower()
        and (levels is None or line.level in levels)
        and sieve.stream in ("", line.stream)
    )


def draw(rows: Sequence[Row], zone: tzinfo) -> str:
    """Rows as HTML."""
    return environment.get_template("logrows.html").render(
        rows=rows,
        marked=0,
        clock=lambda instant: clock(instant, zone),
        link=lambda line: f"?{urlencode({'tab': 'log', 'at': line})}#L{line}",
    )
