"""The first page: what needs a hand, what flows, what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.model.duration import in_words
from koken.model.states import State
from koken.views import marks, words
from koken.views.flow import Flow, Quarter
from koken.views.hands import Failed, SlowRun, StuckQueue
from koken.views.locks import LockRow
from koken.views.marks import Mark
from koken.views.overview import Overview, job_names, overview
from koken.views.query import quoted
from koken.web.access.door import Reading
from koken.web.console.pages import page, zone_of

router = APIRouter()
FAILED = Mark(State.FAILED.glyph, "failed", "failed")
UNDO_FAILED = Mark(marks.COMPENSATING.glyph, "not undone", "failed")
ASKS = Mark("◔", "asks", "waiting")
LATE = Mark("◷", "late", "retry")
STUCK = Mark("!", "stuck", "failed")
PAUSED = Mark("‖", "paused", "retry")
HELD = Mark("◌", "held long", "retry")
HEIGHT = 60
"""Of the strip of a day."""
WIDTH = 10
"""Of a quarter of an hour in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """A line of what needs a hand."""

    mark: Mark
    title: str
    href: str
    what: str = ""
    """Beside the title: a step, a count."""
    text: str = ""
    """What is the matter."""
    since: datetime | None = None
    links: Sequence[tuple[str, str]] = ()
    """Where to look, and where to act."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A quarter of an hour in the strip."""

    x: int
    good: int
    bad: int
    """Heights."""
    quarter: Quarter
    href: str


@router.get("/")
async def first_page(request: Request, visit: Reading) -> HTMLResponse:
    """The overview."""
    zone, now = zone_of(request), datetime.now(UTC)
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    found = await overview(visit.views, workspace=visit.workspace, midnight=midnight)
    empty = not found.next and not found.flow.most and not found.flow.today
    return page(
        request,
        visit,
        "overview.html",
        live="workspace",
        found=found,
        hands=[*hands(found)],
        bars=bars(found.flow),
        hours=hours(found.flow, zone),
        height=HEIGHT,
        width=WIDTH * len(found.flow.quarters),
        axis=[each.at for each in found.flow.quarters[::24]],
        share=lambda rate: f"{rate:.0%}" if rate >= 0.1 else f"{rate:.1%}",
        clock_text=lambda at: f"{at.astimezone(zone):%H:%M}",
        queue_runs=lambda name: query(f"queue:{quoted(name)} state:ready,running"),
        most_waiting=max((each.ready for each in found.queues), default=0),
        most_next=max((each.count for each in found.next), default=0),
        no_jobs=empty and not await job_names(visit.views, visit.workspace),
    )


def hands(found: Overview) -> Iterator[Hand]:
    """What needs a hand, the most pressing first."""
    yield from map(of_failure, found.failed)
    for undo in found.undoing:
        href = f"/runs/{undo.run_id}"
        yield Hand(
            mark=UNDO_FAILED,
            title=undo.job,
            href=href,
            what=words.plain(undo.step),
            text=f"{words.plain(undo.error)}; tried {times(undo.attempt)}, it is tried again",
            since=undo.since,
            links=[(href, "Look")],
        )
    for asked in found.questions:
        href = f"/runs/{asked.run_id}"
        whom = f" ({asked.for_whom})" if asked.for_whom else ""
        yield Hand(
            mark=ASKS,
            title=asked.job,
            href=href,
            what=words.plain(asked.step or ""),
            text=words.plain(f"{asked.text}{whom}"),
            since=asked.asked_at,
            links=[(href, "Answer")],
        )
    for lost in found.lost:
        href = f"/runs/{lost.run_id}"
        worker = f"its worker {lost.worker} is silent" if lost.worker else "it has no worker"
        yield Hand(
            mark=STUCK,
            title=lost.job,
            href=f"/runs/{lost.root_id}",
            what=words.plain(lost.step or ""),
            text=f"{worker}; another takes it over as soon as one is there",
            since=lost.since,
            links=[("/workers", "Workers"), (href, "Look")],
        )
    yield from map(of_queue, found.stuck)
    yield from map(of_slow, found.slow)
    for late in found.late:
        href = f"/jobs/{quote(late.job, safe='')}"
        text = late.problem or f"{late.expression}: its time has passed and nothing has fired"
        yield Hand(
            mark=LATE,
            title=late.job,
            href=href,
            what="schedule",
            text=words.plain(text),
            since=late.since,
            links=[("/workers", "Workers"), (href, "Look")],
        )
    yield from map(of_lock, found.locks)
    for key in found.keys:
        href = f"/runs/{key.run_id}"
        yield Hand(
            mark=HELD,
            title=key.job,
            href=href,
            text=words.plain(f"run {key.run_id} keeps key {key.key}; starts under it {key.rule}"),
            since=key.since,
            links=[(href, "Look")],
        )


def times(count: int) -> str:
    """``once``, ``3 times``."""
    return "once" if count == 1 else f"{count:,} times"


def of_failure(each: Failed) -> Hand:
    """The newest open failure of a job, which stands for the others."""
    href = f"/runs/{each.run_id}"
    step = f"step {words.plain(each.step)}" if each.step else ""
    tries = f" after {each.attempt:,} tries" if each.attempt > 1 else ""
    links = [(f"{href}/plan/retry", "Plan"), (href, "Why")]
    if each.count > 1:
        links.append(
            (query(f"job:{quoted(each.job)} state:failed"), f"All {words.capped(each.count)}")
        )
    return Hand(
        mark=UNDO_FAILED if each.undo_failed else FAILED,
        title=each.job,
        href=href,
        what=step,
        text=f"{words.plain(each.error) or 'it gave no reason'}{tries}",
        since=each.since,
        links=links,
    )


def of_queue(each: StuckQueue) -> Hand:
    """Runs that wait for nobody."""
    waiting = f"{words.capped(each.count)} {'run waits' if each.count == 1 else 'runs wait'}"
    if each.paused_at is None:
        why = f"{waiting}, and no worker serves it: koken worker --queue {each.queue}"
    else:
        reason = f" ({words.plain(each.pause_reason)})" if each.pause_reason else ""
        why = f"{waiting}; paused by {each.paused_by}{reason}"
    return Hand(
        mark=PAUSED if each.paused_at else STUCK,
        title=each.queue,
        href=f"/queues/{quote(each.queue, safe='')}",
        what="queue",
        text=why,
        since=each.paused_at or each.since,
        links=[
            (f"/queues/{quote(each.queue, safe='')}", "Queue"),
            (query(f"queue:{quoted(each.queue)} state:ready"), "Runs"),
        ],
    )


def of_slow(each: SlowRun) -> Hand:
    """A run that takes too long."""
    href = f"/runs/{each.run_id}"
    usual = f"its runs take up to {in_words(each.expected)}" if each.expected else ""
    ends = "its time is nearly over" if each.until else ""
    return Hand(
        mark=LATE,
        title=each.job,
        href=href,
        text="; ".join(filter(None, (usual, ends))),
        since=each.since,
        links=[(href, "Look")],
    )


def of_lock(each: LockRow) -> Hand:
    """A lock that is held for long."""
    holder = each.holders[0] if each.holders else None
    whose = f"run {holder.run_id} ({holder.job}) has it" if holder else "somebody has it"
    waiting = f"{words.capped(each.waiting)} {'waits' if each.waiting == 1 else 'wait'}"
    links = [("/locks", "Locks")]
    if holder is not None:
        links.append((f"/runs/{holder.run_id}", "Look"))
    return Hand(
        mark=HELD,
        title=each.key,
        href="/locks",
        what=each.kind,
        text=f"{words.plain(whose)}; {waiting} for it",
        since=each.since,
        links=links,
    )


def query(text: str) -> str:
    """The address of the runs that match."""
    return f"/runs?q={quote(text)}"


def bars(flow: Flow) -> list[Bar]:
    """The quarters of an hour as bars; what failed is seen even where it is little."""
    made = []
    for number, each in enumerate(flow.quarters):
        bad = max(round(HEIGHT * each.failed / flow.most), 3) if each.failed else 0
        good = max(round(HEIGHT * each.succeeded / flow.most), 1) if each.succeeded else 0
        until = each.at + timedelta(minutes=15)
        made.append(
            Bar(
                x=number * WIDTH,
                good=min(good, HEIGHT - bad),
                bad=bad,
                quarter=each,
                href=query(f"since:{each.at:%Y-%m-%dT%H:%MZ} until:{until:%Y-%m-%dT%H:%MZ}"),
            )
        )
    return made


def hours(flow: Flow, zone: tzinfo) -> list[tuple[datetime, int, int]]:
    """The same by the hour, as numbers: when, how many succeeded, how many failed."""
    found: dict[datetime, tuple[int, int]] = {}
    for each in flow.quarters:
        hour = each.at.astimezone(zone).replace(minute=0)
        good, bad = found.get(hour, (0, 0))
        found[hour] = (good + each.succeeded, bad + each.failed)
    return [(hour, good, bad) for hour, (good, bad) in found.items() if good or bad][::-1]
