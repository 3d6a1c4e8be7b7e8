"""The page of runs: which match a query, how many in which state, and what can be done to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from koken.errors import InvalidArguments
from koken.model.run import Run
from koken.model.states import State
from koken.views import marks, words
from koken.views.facets import LOOKED, Facets, Page, facets
from koken.views.facets import page as page_of
from koken.views.marks import Mark
from koken.views.query import LARGEST_ID, quoted, without
from koken.web.access.door import Reading
from koken.web.console.pages import page
from koken.web.masking import masked
from koken.web.visit import Visit

router = APIRouter()
ROWS = 50
"""Runs on a page."""
FULL = 1000
"""From which on a number is no longer told exactly."""
NOTHING = Facets(states={}, whole=True)
NONE = Page(runs=[], older=None, looked_from=None, paused=frozenset())
BULKS = (("retry", "Retry all"), ("cancel", "Cancel all"), ("skip", "Skip failed steps of all"))
Asked = Annotated[str, Query(max_length=2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A state, and how many runs that match are in it."""

    mark: Mark
    count: str
    href: str
    current: bool


@router.get("/runs")
async def runs_page(
    request: Request,
    visit: Reading,
    q: Asked = "",
    before: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
) -> HTMLResponse:
    """The newest runs that match."""
    q = q.strip()
    problem, found, counts, now = "", NONE, NOTHING, datetime.now(UTC)
    names: Sequence[str] = ()
    try:
        visit.query(q)
        found = await page_of(visit.views, q, workspace=visit.workspace, limit=ROWS, before=before)
        counts = await facets(visit.views, q, workspace=visit.workspace)
    except InvalidArguments as error:
        problem, names = str(error), tuple(error.problems)
    return page(
        request,
        visit,
        "runs.html",
        live="" if before or problem else "workspace",
        status=422 if problem else 200,
        q=q,
        before=before,
        query_problem=problem,
        problem_words=names,
        runs=found.runs,
        marked=marks.of_run,
        facets=chosen(q, counts),
        whole=counts.whole,
        looked=LOOKED,
        total=told(sum(counts.states.values()), counts.whole),
        matching=matching(q, counts),
        filters=filters(q, visit.principal.name),
        bulks=[
            (verb, word, f"/bulks/preview?{urlencode({'verb': verb, 'q': q})}")
            for verb, word in BULKS
        ]
        if q.strip()
        else [],
        older=address(q, found.older),
        further=address(q, found.looked_from),
        shown_about=lambda run: about(visit, run),
        stands=lambda run: standing(run, now, found.paused),
    )


def about(visit: Visit, run: Run[Any]) -> str:
    """What a run is about, without secrets."""
    given = {name: value for name, value in run.args.items() if value not in (None, "", [], {})}
    args = masked(given, visit.house.web.mask)
    return words.plain(words.about(run, args))


def standing(run: Run[Any], now: datetime, paused: Collection[str]) -> str:
    """Where a run stands, as far as its state, its times and its tries do not tell."""
    if run.state.ended:
        closed = f"acknowledged by {run.acknowledged_by}" if run.acknowledged_by else ""
        return "; ".join(filter(None, (closed, words.plain(run.reason))))
    if run.state is State.READY:
        return f"in queue {run.queue}{', which is paused' if run.queue in paused else ''}"
    if run.state is State.BLOCKED:
        return "waits for what another run holds"
    if run.wait is not None and run.phase is None and not words.retrying(run):
        until = run.wait.until
        due = f", {words.by_then(run.wait.cause, until, now)}" if until else ""
        return f"{marks.WAITS[run.wait.cause]}{due}"
    return words.standing(run, now)


def address(q: str, before: int | None = None) -> str:
    """The address of a list; empty where ``before`` says that there is none."""
    given = {"q": q} if before is None else {"q": q, "before": str(before)}
    return f"/runs?{urlencode(given)}" if before is not None else ""


def link(q: str) -> str:
    """The address of the first page of a query."""
    return f"/runs?{urlencode({'q': q})}" if q else "/runs"


def told(number: int, whole: bool) -> str:
    """A number as it is told: exact to 1,000."""
    return f"{number:,}" if whole and number <= FULL else f"{min(number, FULL):,}+"


def states_in(q: str) -> set[str]:
    """The states that a query names."""
    named = [word.partition(":")[2] for word in q.split() if word.startswith("state:")]
    return {each for value in named for each in value.split(",")}


def matching(q: str, counts: Facets) -> str:
    """How many match with what the query says of states; empty where that is not counted."""
    named = states_in(q)
    live = {state.value for state in State if not state.ended}
    wanted = named | (live if "live" in named else set())
    wanted |= {state.value for state in State if state.ended} if "ended" in named else set()
    number = sum(n for state, n in counts.states.items() if not wanted or state.value in wanted)
    return told(number, counts.whole)


def chosen(q: str, counts: Facets) -> list[Facet]:
    """The states with runs, each with the query that narrows to it, or leaves it again."""
    rest = without(q, "state")
    named = states_in(q)
    found = []
    for state in State:
        number = counts.states.get(state, 0)
        current = named == {state.value}
        if number or current:
            href = link(rest) if current else link(f"{rest} state:{state.value}".strip())
            mark = Mark(state.glyph, state.value, state.value)
            found.append(
                Facet(
                    mark=mark,
                    count=f"{number:,}" if number <= FULL else f"{FULL:,}+",
                    href=href,
                    current=current,
                )
            )
    return found


def filters(q: str, who: str) -> list[tuple[str, str, bool]]:
    """Words that are often wanted: their name, the query with them, whether it has them."""
    made = []
    for name, word, value in (
        ("Live", "state", "live"),
        ("Failed", "state", "failed"),
        ("Last hour", "since", "1h"),
        ("Last 24 h", "since", "24h"),
        ("By schedule", "trigger", "schedule"),
        ("Mine", "by", quoted(who)),
    ):
        current = f"{word}:{value}" in q.split()
        rest = without(q, word)
        made.append((name, link(rest if current else f"{rest} {word}:{value}".strip()), current))
    return made
