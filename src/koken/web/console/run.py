"""The page of a run: how it stands, what to do, its picture, its log, all that is known of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from koken.errors import KokenError, Refused
from koken.model.fields import arranged
from koken.model.hiding import Hider, masked
from koken.model.plan import Plan
from koken.model.rights import Right
from koken.model.run import Run
from koken.model.states import State
from koken.model.steps import StepSpec
from koken.views import (
    belongings,
    events,
    marks,
    openquestions,
    relatives,
    retries,
    runs,
    runwords,
    treelogs,
    words,
)
from koken.views import timeline as times
from koken.views.cause import Cause
from koken.views.jobfacts import form_of_run
from koken.views.openquestions import AwaitedRow, QuestionRow
from koken.views.query import is_id
from koken.views.reading import reading
from koken.views.relatives import Relatives
from koken.views.retries import Retried
from koken.views.sentence import Piece, failures, sentence
from koken.views.steprows import StepRow
from koken.views.steps import declared_in, rows_in, undone
from koken.views.why import why
from koken.web.access.door import Someone
from koken.web.console import kept
from koken.web.console.acts import acts_of, done
from koken.web.console.live import is_over
from koken.web.console.pages import page, zone_of
from koken.web.console.rungraph import picture
from koken.web.console.runlog import log_of
from koken.web.console.timeline import chart
from koken.web.console.timetags import in_zone
from koken.web.masking import masked_text
from koken.web.shown import event_detail, result_shown
from koken.web.visit import Visit

router = APIRouter()
TABS = {
    "log": "Log",
    "steps": "Steps",
    "attempts": "Attempts",
    "values": "Input and result",
    "checkpoints": "Checkpoints",
    "operation": "Operation",
    "events": "Events",
}
SAID = (
    "ended",
    "retry",
    "running",
    "children",
    "compensating",
    "question",
    "recorded",
    "cancelling",
)
"""Causes that the sentence and the steps tell."""
CAUSES = 8
LISTED = 500
"""Steps in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A run as it stands, with all that its first screen tells."""

    run: Run[Any]
    declared: Sequence[StepSpec]
    rows: Sequence[StepRow]
    causes: Sequence[Cause]
    questions: Sequence[QuestionRow]
    signals: Sequence[AwaitedRow]
    undos: Sequence[StepRow]
    """What undoes its steps, while that goes on."""
    plan: Plan | None
    refusal: str
    retried: Retried | None
    """Who has let the run go again last, or the one step of it that failed."""

    def told(self, now: datetime) -> list[Piece]:
        """The sentence."""
        return sentence(
            self.run,
            self.rows,
            now,
            plan=self.plan,
            refusal=self.refusal,
            questions=self.questions,
            undos=self.undos,
            retried=self.retried.told if self.retried else "",
        )


@router.get("/runs/{named}")
async def run_page(request: Request, named: str, visit: Someone) -> Response:
    """A run by its number; the name of a job leads to its last run."""
    there, run = await visit.run(named)
    if not is_id(named):
        return RedirectResponse(f"/runs/{run.id}", status_code=303)
    return await shown(request, there, run)


async def shown(
    request: Request, visit: Visit, run: Run[Any], *, problem: KokenError | None = None
) -> Response:
    """The page; ``problem`` is why what was asked for was not done."""
    now, db, params, here = datetime.now(UTC), visit.views, request.query_params, f"/runs/{run.id}"
    found = await standing(visit, run)
    tab = params.get("tab", "log")
    tab = tab if tab in TABS else "log"
    mask = visit.house.web.mask
    args = masked(arranged(dict(run.args), await form_of_run(db, run.id)), mask, run.veil)
    started = runwords.started_by(run, zone_of(request))
    around = await relatives.relatives(db, run)
    line = await times.timeline(db, run, found.rows, now, found.declared)
    pictured = picture(run, found.declared, found.rows, params, zone_of(request))
    return page(
        request,
        visit,
        "run.html",
        live="" if run.state.ended and await is_over(db, run.id) else f"run:{run.id}",
        at=here,
        status=problem.status if problem else 200,
        run=run,
        found=found,
        told=found.told(now),
        look=marks.of_run(run).look,
        started=started[:1].upper() + started[1:],
        acts=acts_of(run, found.rows),
        like=like(visit, run, around),
        answers=visit.may(Right.START),
        problem=problem,
        done=done(run, params.get("did", "")),
        about=runwords.about(run, args),
        failed=failures(found.rows),
        kept=sum(row.kept_from is not None for row in found.rows),
        relatives=around,
        picture=pictured,
        chart=chart(line, now, zone_of(request)) if line else None,
        tab=tab,
        tabs=await tabs_of(visit, found, tab),
        hush=lambda text, name="": masked_text(text, mask, name),
        url=lambda **more: f"{here}?{urlencode({k: v for k, v in more.items() if v})}",
        **await of_tab(visit, request, found, tab, args),
    )


def like(visit: Visit, run: Run[Any], around: Relatives) -> str:
    """The form for another run, filled like one that has ended; empty where none can be started."""
    whole = run.state.ended and run.parent_id is None
    if not whole or around.retired or not visit.may(Right.START):
        return ""
    query = urlencode({"from_run": run.id, "workspace": run.workspace})
    return f"/jobs/{quote(run.job, safe='')}/start?{query}"


async def standing(visit: Visit, run: Run[Any]) -> Standing:
    """Read how a run stands: its steps, why it does not go, what it asks, whether it may go on."""
    db = visit.views
    causes: Sequence[Cause] = ()
    questions: Sequence[QuestionRow] = ()
    signals: Sequence[AwaitedRow] = ()
    async with reading(db) as session:
        declared = await declared_in(session, run)
        rows: Sequence[StepRow] = await rows_in(session, run, declared) if run.state.ended else ()
    if not run.state.ended:
        reasons = await why(db, run, visit.house.config.timing)
        rows, causes = reasons.steps, tuple(worth_telling(run, reasons.causes))
        ids = await treelogs.tree(db, run.id)
        questions = await openquestions.questions_of(db, ids)
        signals = await openquestions.signals_of(db, ids)
    plan, refusal = await way_on(visit, run, rows)
    failed = failures(rows)
    whose = failed[0].run_id if len(failed) == 1 else None
    again = await retries.retries(db, [whose or run.id])
    return Standing(
        run=run,
        declared=declared,
        rows=rows,
        causes=causes,
        questions=questions,
        signals=signals,
        undos=await undone(db, run) if run.phase == "compensating" else (),
        plan=plan,
        refusal=refusal,
        retried=retries.last(again, whose or run.id),
    )


def worth_telling(run: Run[Any], causes: Sequence[Cause]) -> list[Cause]:
    """Why a run does not go, without what its page tells elsewhere."""
    if run.phase == "compensating":  # steps that are undone stand in no picture
        return [cause for cause in causes if cause.step is not None or cause.cause not in SAID]
    found = [cause for cause in causes if cause.cause not in (*SAID, "needs")]
    if run.state in (State.BLOCKED, State.READY):
        found = [cause for cause in causes if cause.cause not in SAID]
    return found[:CAUSES]


async def way_on(visit: Visit, run: Run[Any], rows: Sequence[StepRow]) -> tuple[Plan | None, str]:
    """What running a failed run again would do, or why it cannot."""
    if run.state is not State.FAILED or "retry" not in run.actions:
        return None, ""
    failed = failures(rows) if run.is_workflow else []
    step = failed[0].name if len(failed) == 1 else None
    try:
        return await visit.client.plan("retry", run, from_step=step), ""
    except Refused as error:
        return None, str(error)
    except KokenError:
        return None, ""


async def tabs_of(visit: Visit, found: Standing, chosen: str) -> Mapping[str, str]:
    """The tabs in which there is something, and the one that somebody has chosen."""
    checkpoints, ledger = await belongings.has(visit.views, found.run.id)
    empty = {
        name
        for name, some in (
            ("steps", bool(found.rows)), ("checkpoints", checkpoints), ("operation", ledger)
        )
        if not some and name != chosen
    }  # fmt: skip
    return {key: name for key, name in TABS.items() if key not in empty}


async def of_tab(
    visit: Visit, request: Request, found: Standing, tab: str, args: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What the chosen tab shows; ``args`` are the run's as they may be shown."""
    db, run, mask = visit.views, found.run, visit.house.web.mask
    match tab:
        case "steps":
            return {"listed": found.rows[:LISTED], "undone": await undone(db, run)}
        case "attempts":
            whose = chosen(run, found.rows, request.query_params.get("step", ""))
            made = await runs.attempts(db, whose)
            return {
                "attempts": made,
                "numbered": list(enumerate(made, 1)),
                "again": await retries.retries(db, [whose]),
                "whose": whose,
                "outcomes": times.LOOKS,
            }
        case "values":
            return {
                "args": pretty(args),
                "result": pretty(result_shown(run, Hider(mask))),
            }
        case "checkpoints":
            rows = await belongings.first_checkpoints(db, run.id)
            return {"checkpoints": [kept.told(each, mask) for each in rows]}
        case "operation":
            return {"ledger": await belongings.first_ledger(db, run.id)}
        case "events":
            acts = await events.of_run(db, run.id)
            return {
                "events": [
                    (act, words.dump(in_zone(event_detail(visit, act), zone_of(request))))
                    for act in acts
                ]
            }
    return {"log": await log_of(visit.house, run, found.rows, request.query_params)}


def chosen(run: Run[Any], rows: Sequence[StepRow], step: str) -> int:
    """The run of a step that is named, else of the first that failed, else the run itself."""
    named = [row for row in rows if row.name == step and row.run_id is not None]
    failed = [] if step else [row for row in failures(rows) if row.run_id is not None]
    for row in (*named, *failed):
        assert row.run_id is not None
        return row.run_id
    return run.id


def pretty(value: Any) -> str:
    """A plain value as JSON that people can read."""
    return json.dumps(value, ensure_ascii=False, indent=2)
