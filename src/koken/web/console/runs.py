"""The page of runs: which match a query, how many in which state, and what can be done to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from koken.errors import InvalidArguments
from koken.model.bulk import BulkVerb
from koken.model.hiding import masked
from koken.model.run import Run
from koken.model.runparts import Wait
from koken.model.states import State
from koken.views import bulks, clocks, marks, runwords, words
from koken.views.facets import LOOKED, Facets, Page, facets
from koken.views.facets import page as page_of
from koken.views.marks import Mark
from koken.views.query import LARGEST_ID, having, said, says, without
from koken.views.standings import Standing
from koken.web.access.door import Reading
from koken.web.console.forms import Asked
from koken.web.console.pages import page, zone_of
from koken.web.console.timetags import Times
from koken.web.visit import Visit

router = APIRouter()
ROWS = 50
"""Runs on a page."""
FULL = 1000
"""From which on a number is no longer told exactly."""
NOTHING = Facets(states={}, matching=0, whole=True)
NONE = Page(runs=[], older=None, looked_from=None, paused=frozenset())
BULKS: Mapping[BulkVerb, str] = {
    "retry": "Retry all",
    "cancel": "Cancel all",
    "skip": "Skip failed steps of all",
    "acknowledge": "Acknowledge all",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """How runs may stand, and how many of those that match do."""

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
    problem, found, counts = "", NONE, NOTHING
    times = Times(datetime.now(UTC), zone_of(request))
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
        matching=matching(q, counts, len(found.runs)),
        filters=filters(q, visit.principal.name),
        bulks=[
            (BULKS[verb], f"/bulks/preview?{urlencode({'verb': verb, 'q': q})}")
            for verb in (for_all(q, found, counts) if q and not before else ())
        ],
        older=address(q, found.older),
        further=address(q, found.looked_from),
        shown_about=lambda run: about(visit, run),
        stands=lambda run: standing(run, times, found.paused),
    )


def for_all(q: str, found: Page, counts: Facets) -> Sequence[BulkVerb]:
    """What could be done to at least one of the runs that match."""
    if found.older is None and found.looked_from is None:
        return [verb for verb in BULKS if any(bulks.applies(verb, run) for run in found.runs)]
    return bulks.possible(q, counts.states if counts.whole else tuple(Standing))


def about(visit: Visit, run: Run[Any]) -> str:
    """What a run is about, without secrets."""
    given = {name: value for name, value in run.args.items() if value not in (None, "", [], {})}
    args = masked(given, visit.house.web.mask, run.veil)
    return words.plain(runwords.about(run, args))


def standing(run: Run[Any], times: Times, paused: Collection[str]) -> str:
    """Where a run stands, as far as its state, its times and its tries do not tell."""
    if run.state.ended:
        closed = f"acknowledged by {run.acknowledged_by}" if run.acknowledged_by else ""
        by = words.plain(run.cancelled_by or "")
        told = ": ".join(filter(None, (f"by {by}" if by else "", runwords.why(run))))
        return "; ".join(filter(None, (closed, told)))
    if run.state is State.READY:
        return f"in queue {run.queue}{', which is paused' if run.queue in paused else ''}"
    if run.state is State.BLOCKED:
        return "waits for what another run holds"
    if run.wait is not None and run.phase is None:
        return waiting(run.wait, times)
    if run.children and run.phase in ("running", "compensating"):
        return runwords.going(run.children, ())
    return f"on {run.worker}" if run.state is State.RUNNING else ""


def waiting(wait: Wait, times: Times) -> str:
    """What a run waits for, and when that comes or is given up."""
    what = marks.WAITS[wait.cause]
    if wait.until is None:
        return what
    verbs = ("gives up", "was to give up") if wait.cause in clocks.GIVES_UP else ("due", "was due")
    return Markup("{}, {}").format(what, times.due(wait.until, *verbs))


def address(q: str, before: int | None = None) -> str:
    """The address of a list; empty where ``before`` says that there is none."""
    given = {"q": q} if before is None else {"q": q, "before": str(before)}
    return f"/runs?{urlencode(given)}" if before is not None else ""


def link(q: str) -> str:
    """The address of the first page of a query."""
    return f"/runs?{urlencode({'q': q})}" if q else "/runs"


def told(number: int, *, whole: bool) -> str:
    """A number as it is told: exact to 1,000; not ``whole``: there may be more."""
    return words.capped(number) if whole or number > FULL else f"{number:,}+"


def matching(q: str, counts: Facets, shown: int) -> str:
    """How many runs match, of which some are ``shown``: ``3 runs match``; ``3 runs`` of all."""
    number = max(counts.matching, shown)
    if not number and not counts.whole:
        return f"None of the newest {LOOKED:,} runs matches"
    count = told(number, whole=counts.whole)
    if not q:
        return f"{count} {'run' if count == '1' else 'runs'}"
    return f"{count} {'run matches' if count == '1' else 'runs match'}"


def chosen(q: str, counts: Facets) -> list[Facet]:
    """How runs stand, each with the query that narrows to it, or leaves it again."""
    rest = without(q, "state")
    named = said(q, "state")
    found = []
    for each in Standing:
        number = counts.states.get(each, 0)
        current = named == [[each.value]]
        if number or current:
            found.append(
                Facet(
                    mark=marks.of(each),
                    count=words.capped(number),
                    href=link(rest if current else having(rest, "state", each.value)),
                    current=current,
                )
            )
    return found


def filters(q: str, who: str) -> list[tuple[str, str, bool]]:
    """Words that are often wanted: their name, the query with them, whether it has them."""
    made = []
    for name, word, value in (
        ("Live", "state", "live"),
        ("Open failures", "state", "open"),
        ("Last hour", "since", "1h"),
        ("Last 24 h", "since", "24h"),
        ("By schedule", "trigger", "schedule"),
        ("Mine", "by", who),
    ):
        current = says(q, word, value)
        rest = without(q, word)
        made.append((name, link(rest if current else having(rest, word, value)), current))
    return made
