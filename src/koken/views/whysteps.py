"""Why steps, and the runs that are made of them, stand as they do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from koken.model.run import UNDO, Run
from koken.model.states import BAD, State, WaitCause
from koken.model.steps import StepSpec
from koken.store.database import Transaction
from koken.views.cause import Cause, listed
from koken.views.steprows import StepRow, gate_of, going

DONE = (State.SUCCEEDED, State.SKIPPED)
TOLD = 30
"""Steps that are told one by one, of those that failed and of the others."""
SPEC = """
select e.value::text as spec, p.state as parent_state, j.name as job, p.id as parent
  from koken.run r
  join koken.run p on p.id = r.parent_id
  join koken.job j on j.id = p.job_id
  join koken.job_version v on v.id = r.version_id
  join lateral jsonb_array_elements(v.spec -> 'steps') e on (e.value ->> 'no')::int = r.step_no
 where r.id = $1 and e.value ->> 'name' = r.step and r.need_rule is not null and r.undoes_id is null
"""
NEEDS = """
select o.step, o.state from koken.run o
 where o.parent_id = $1 and o.step = any($2) and o.need_rule is not null and o.undoes_id is null
"""
COUNTED = "select open_needs, not_before_at from koken.run where id = $1"
QUESTION = (
    "select q.text, q.for_whom, q.reason from koken.question q where q.run_id = $1 and q.key = $2"
)


def of_workflow(rows: Sequence[StepRow], declared: Sequence[StepSpec]) -> list[Cause]:
    """What has gone wrong first, then what goes, then what waits for it."""
    standing = {row.name: row for row in rows}
    needs = {spec.name: list(spec.edges) for spec in declared}
    left = [row for row in rows if row.state is None or row.state not in DONE]
    failed = [row for row in left if row.state in BAD]
    others = [row for row in left if row not in failed]
    others.sort(key=lambda row: (row.state in (None, State.BLOCKED), row.no))
    causes = [of_failed(row) for row in failed[:TOLD]]
    causes += [of_row(row, open_needs(needs.get(row.name, ()), standing)) for row in others[:TOLD]]
    more = max(len(failed) - TOLD, 0) + max(len(others) - TOLD, 0)
    if more:
        causes.append(Cause(cause="more", text=f"{more:,} more steps are not done"))
    return causes


def of_record(rows: Sequence[StepRow]) -> list[Cause]:
    """What a body has done so far, the last first, which it will not do again."""
    done = [row.name for row in rows if row.recorded and row.state is State.SUCCEEDED]
    if not done:
        return []
    return [Cause(cause="recorded", text=f"it has done {listed(done[::-1])}")]


def of_undone(rows: Sequence[StepRow]) -> list[Cause]:
    """Undo steps that failed, go, or are still to go."""
    left = [row for row in rows if row.state not in DONE]
    return [of_failed(row) if row.state in BAD else of_row(row, ()) for row in left[:TOLD]]


def of_failed(row: StepRow) -> Cause:
    """A step that did not end well."""
    return Cause(
        cause="step_failed" if row.state is State.FAILED else "step_cancelled",
        text=row.reason or "cancelled",
        step=row.name,
        worker=row.worker,
        since=row.ended_at,
    )


def open_needs(names: Sequence[str], standing: Mapping[str, StepRow]) -> list[str]:
    """The needs that keep a step from going."""
    return [name for name in names if standing[name].state not in DONE]


def of_row(row: StepRow, needs: Sequence[str]) -> Cause:
    """A step that is not done."""
    if row.state is State.RUNNING:
        text = f"runs on {row.worker}" if row.worker else "running"
        return Cause(cause="running", text=text, step=row.name, since=row.started_at)
    if row.wait is not None and row.wait.cause is WaitCause.GATE:
        return Cause(
            cause="gate", text=f"held by its {row.gate or 'gate'}", step=row.name,
            until=row.wait.until, wait_for=row.gate or None,
        )  # fmt: skip
    if row.wait is not None:
        detail = f" ({row.detail})" if row.detail else ""
        failed = f"{row.reason}; " if row.wait.cause is WaitCause.RETRY and row.reason else ""
        return Cause(
            cause=row.wait.cause.value, text=f"{failed}{row.mark.word}{detail}", step=row.name,
            until=row.wait.until, wait_for=row.wait.wait_for,
        )  # fmt: skip
    if row.state is State.READY:
        return Cause(cause="in_line", text="is ready", step=row.name)
    if needs:
        return Cause(
            cause="needs", text=f"needs {listed(needs)}", step=row.name,
            until=row.not_before_at, wait_for=row.gate or None,
        )  # fmt: skip
    if row.undoing:
        return Cause(cause="needs", text="comes after the one before it", step=row.name)
    if row.state is State.BLOCKED and not row.over:
        return Cause(cause="lock", text="waits for its lock", step=row.name)
    return Cause(cause="needs", text="was not begun", step=row.name)


async def of_blocked(session: Transaction, run: Run[Any]) -> list[Cause]:
    """The needs that a step still counts; nothing for one that is released, or is no step."""
    (mine,) = await session.fetch_text(COUNTED, run.id)
    if run.parent_id is None or mine["open_needs"] is None:
        return []
    found = await session.fetch_text(SPEC, run.id)
    if not found:
        text = "its turn comes when fewer of those before it go"
        return [Cause(cause="at_once", text=text)]
    spec = StepSpec.from_json(json.loads(found[0]["spec"]))
    others = await session.fetch_text(NEEDS, run.parent_id, list(spec.edges))
    left = [f"{row['step']} ({row['state']})" for row in others if row["state"] not in DONE]
    text = f"it needs {listed(left)}" if left else "it has not been let go"
    until, gate = mine["not_before_at"], gate_of(spec) or None
    if State(found[0]["parent_state"]).ended:
        text += f"; {found[0]['job']} {found[0]['parent']} has ended"
        until = gate = None
    return [Cause(cause="needs", text=text, until=until, wait_for=gate)]


async def of_waiting(
    session: Transaction, run: Run[Any], rows: Sequence[StepRow] = ()
) -> list[Cause]:
    """What a run waits for in the middle, or before it begins; ``rows`` are its steps."""
    assert run.wait is not None
    wait = run.wait
    text = TEXTS[wait.cause]
    if wait.cause is WaitCause.QUESTION:
        found = await session.fetch_text(QUESTION, run.id, wait.wait_for)
        whom = f" {found[0]['for_whom']}" if found and found[0]["for_whom"] else ""
        again = f" (again: {found[0]['reason']})" if found and found[0]["reason"] else ""
        text = f"it asks{whom}: {found[0]['text'] if found else wait.wait_for}{again}"
    elif wait.cause is WaitCause.OPERATION:
        text = f"{operations(wait.wait_for)} elsewhere; the next poll comes"
    elif wait.cause is WaitCause.CHILDREN:
        text = children(run, going(rows))
    elif wait.cause is WaitCause.GATE and (spec := await session.fetch_text(SPEC, run.id)):
        text = f"it is held by its {gate_of(StepSpec.from_json(json.loads(spec[0]['spec'])))}"
    elif wait.wait_for:
        text += " " + " or ".join(wait.wait_for.splitlines())
    cause = "compensating" if run.phase == "compensating" else wait.cause.value
    return [Cause(cause=cause, text=text, until=wait.until, wait_for=wait.wait_for)]


def operations(handles: str | None) -> str:
    """``operation import goes on``; ``operations publish[0] and publish[1] go on``."""
    named = (handles or "").splitlines()
    if len(named) > 1:
        return f"operations {listed(named)} go on"
    return " ".join(["operation", *named, "goes on"])


TEXTS = {
    WaitCause.DELAY: "it is not due yet",
    WaitCause.RETRY: "the next attempt comes",
    WaitCause.SLEEP: "it sleeps",
    WaitCause.SIGNAL: "it awaits the signal",
    WaitCause.QUESTION: "it asks",
    WaitCause.OPERATION: "it works elsewhere",
    WaitCause.CHILDREN: "it waits for runs that it is made of",
    WaitCause.GATE: "it is held by its gate",
}


def children(run: Run[Any], names: Sequence[str]) -> str:
    """How many of the runs that a run is made of go, and which."""
    if run.wait is not None and run.wait.wait_for == UNDO:
        return f"what its steps did is undone; then it ends as {run.settle}"
    number = run.children.going if run.children else 0
    which = f": {listed(names)}" if names else ""
    return f"{number:,} of its runs {'goes' if number == 1 else 'go'}{which}"
