"""The log of a run: a page of its lines, searched and sifted, and what comes as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from koken.views.retries import retries
from koken.views.silent import silent
from koken.views.steprows import StepRow
from koken.views.treelogs import Said
from koken.web.access.door import Someone
from koken.web.console.logrows import Row, draw, drawn
from koken.web.console.pages import zone_of
from koken.web.house import House
from koken.web.live.stream import COMMENT, Live, frame, last_seen, reading
from koken.web.live.topics import OfLog

router = APIRouter()
LIMIT = 300
"""Lines of a page."""
BEFORE_ERROR = 20
"""Lines that stand before that with which an error begins."""
AROUND = 100
"""Lines that stand before one to which a link leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose lines are shown."""

    run_id: int
    names: Mapping[int, str]
    """The runs, and what each is called; first that to which the others belong."""
    step: str = ""
    """The step that it is, where it is not all of the run."""
    chosen: bool = False
    """Whether somebody has chosen that; else it is what failed."""


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

    @property
    def step(self) -> str:
        """The step that somebody has chosen."""
        return self.scope.step if self.scope.chosen else ""

    def url(self, **more: str | int) -> str:
        """The address of another part of it."""
        return f"/runs/{self.scope.run_id}?{asked(self.step, self.sieve, **more)}"

    def link(self, line: int) -> str:
        """The address of one line, among those around it, whatever is searched for."""
        return link(self.scope.run_id, self.step, line)

    @property
    def file(self) -> str:
        """Where all lines that it is a part of are to be had as a file."""
        return f"/api/v1/runs/{next(iter(self.scope.names))}/logs/download?tree=1"

    @property
    def live(self) -> str:
        """Where what comes is to be had."""
        query = asked(self.step, self.sieve, after=self.last)
        return f"/runs/{self.scope.run_id}/log/live?{query}"


def asked(step: str, sieve: Sieve, **more: str | int) -> str:
    """What a part of a log is asked for by."""
    kept = {"step": step, "log_q": sieve.text, "level": sieve.level, "stream": sieve.stream}
    given = {"tab": "log", **kept, **more}
    return urlencode({name: value for name, value in given.items() if value != ""})


def link(run_id: int, step: str, line: int) -> str:
    """The address of one line."""
    return f"/runs/{run_id}?{asked(step, logpages.ALL, at=line)}#L{line}"


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
            of_attempt(await joined(house, scope, begins, sieve, BEFORE_ERROR), begins)
            if begins is not None
            else await logpages.before(db, scope.names, LAST_ID, limit=LIMIT, sieve=sieve)
        )
    last = page.lines[-1].line.id if page.lines else after or 0
    ends = {said.run_id: (said.line.id, said.line.lease) for said in page.lines}
    late = await silent(db, ends) if sieve.open else {}
    return Log(
        scope=scope,
        sieve=sieve,
        page=page,
        rows=drawn(page.lines, sieve, {}, await retries(db, list(ends)), late),
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


def of_attempt(page: LogPage, begins: int) -> LogPage:
    """A page without what stands before the error of an attempt and is of an earlier one."""
    lines = page.lines
    (error,) = [said for said in lines if said.line.id == begins]
    own = (error.run_id, error.line.lease)
    kept = [
        said for said in lines if said.line.id >= begins or (said.run_id, said.line.lease) == own
    ]
    older = page.older if len(kept) == len(lines) else kept[0].line.id
    return replace(page, lines=kept, older=older)


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
                wanted = [each for each in lines if passes(each, sieve)]
                again = await retries(house.views, [each.run_id for each in wanted if each.tries])
                rows = drawn(wanted, sieve, tries, again)
                tries.update({each.run_id: each.tries for each in lines})
                if rows:
                    linked = partial(link, run.id, step)
                    yield frame("lines", draw(rows, zone, linked), so_far)
                told, listener = await heardlines.after(house.views, listener)
            if state is None or state.ended:
                yield frame("over", "", so_far)
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
