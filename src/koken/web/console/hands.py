"""Lines of what needs a hand, for the first page: what is the matter, where to look and to act."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from koken.model.duration import in_words
from koken.model.states import State
from koken.views import marks, words
from koken.views.hands import Failed, LateSchedule, LostRun, SlowRun, Undoing
from koken.views.locks import KeyRow, LockRow
from koken.views.marks import Mark
from koken.views.openquestions import QuestionRow
from koken.views.overview import Overview
from koken.views.stuckqueues import StuckQueue
from koken.web.acting import RIGHT_OF
from koken.web.console.pages import runs_where
from koken.web.visit import Visit

FAILED = Mark(State.FAILED.glyph, "failed", "failed")
UNDO_FAILED = Mark(marks.COMPENSATING.glyph, "not undone", "failed")
ASKS = Mark("◔", "asks", "waiting")
STUCK = Mark("!", "stuck", "failed")
FULL = Mark("▲", "full", "retry")
HELD = Mark("▣", "held long", "retry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """A line of what needs a hand."""

    id: str
    """Names it on the page."""
    mark: Mark
    title: str
    href: str
    what: str = ""
    """Beside the title: a step, a count."""
    text: str = ""
    """What is the matter."""
    more: str = ""
    """What else there is to say of it, set apart."""
    since: datetime | None = None
    links: Sequence[tuple[str, str]] = ()
    """Where to look, and where to act."""


def hands(found: Overview, visit: Visit) -> Iterator[Hand]:
    """What needs a hand, the most pressing first, with what the visitor may do about it."""
    repairs, answers = visit.may(RIGHT_OF["retry"]), visit.may(RIGHT_OF["answer"])
    yield from (of_failure(each, may=repairs) for each in found.failed.first)
    yield from map(of_undoing, found.undoing.first)
    yield from (of_question(each, may=answers) for each in found.questions.first)
    yield from map(of_lost, found.lost.first)
    yield from map(of_queue, found.stuck.first)
    yield from map(of_slow, found.slow.first)
    yield from map(of_late, found.late.first)
    yield from map(of_lock, found.locks.first)
    yield from map(of_key, found.keys.first)


def beyond(found: Overview) -> Iterator[tuple[str, str]]:
    """Of which kinds there is more than is listed: how much in all, and where it is to be found."""
    for kind, things, which, href in (
        (found.failed, "jobs with open failures", "newest", runs_where(state="open")),
        (found.undoing, "undos that failed", "newest", runs_where(state="compensating")),
        (found.questions, "questions", "oldest", runs_where(state="waiting")),
        (found.lost, "runs without a worker", "oldest", "/workers?gone=true"),
        (found.stuck, "queues", "oldest", "/queues"),
        (found.slow, "late runs", "oldest", runs_where(state="running")),
        (found.late, "late schedules", "oldest", "/schedules"),
        (found.locks, "locks", "oldest", "/locks"),
        (found.keys, "keys", "oldest", "/locks"),
    ):
        if kind.total > len(kind.first):
            yield f"The {which} {len(kind.first)} of {words.capped(kind.total)} {things}", href


def of_failure(each: Failed, *, may: bool) -> Hand:
    """The newest open failure of a job, which stands for the others."""
    href = f"/runs/{each.run_id}"
    links = [(f"{href}/plan/retry", "Plan"), (href, "Why")][not may :]
    if each.count > 1:
        all_of_them = runs_where(job=each.job, state="open")
        links.append((all_of_them, f"All {words.capped(each.count)}"))
    return Hand(
        id=f"failed-{each.run_id}",
        mark=UNDO_FAILED if each.undo_failed else FAILED,
        title=each.job,
        href=href,
        what=f"step {words.plain(each.step)}" if each.step else "",
        text=words.plain(each.error) or "it gave no reason",
        more=words.counted(each.attempt, "try", "tries") if each.attempt > 1 else "",
        since=each.since,
        links=links,
    )


def of_undoing(each: Undoing) -> Hand:
    """A run of which an undo has failed, which is tried again."""
    href = f"/runs/{each.run_id}"
    return Hand(
        id=f"undoing-{each.run_id}",
        mark=UNDO_FAILED,
        title=each.job,
        href=href,
        what=words.plain(each.step),
        text=words.plain(each.error),
        more=f"{words.counted(each.attempt, 'try', 'tries')}, it is tried again",
        since=each.since,
        links=[(href, "Look")],
    )


def of_question(each: QuestionRow, *, may: bool) -> Hand:
    """A question that is open."""
    href = f"/runs/{each.run_id}"
    whom = f" ({each.for_whom})" if each.for_whom else ""
    return Hand(
        id=f"question-{each.run_id}-{each.key}",
        mark=ASKS,
        title=each.job,
        href=href,
        what=words.plain(each.step or ""),
        text=words.plain(f"{each.text}{whom}"),
        since=each.asked_at,
        links=[(href, "Answer" if may else "Look")],
    )


def of_lost(each: LostRun) -> Hand:
    """A run whose worker is silent or gone."""
    href = f"/runs/{each.run_id}"
    worker = f"its worker {each.worker} is silent" if each.worker else "it has no worker"
    return Hand(
        id=f"lost-{each.run_id}",
        mark=STUCK,
        title=each.job,
        href=f"/runs/{each.root_id}",
        what=words.plain(each.step or ""),
        text=f"{worker}; another takes it over as soon as one is there",
        since=each.since,
        links=[("/workers", "Workers"), (href, "Look")],
    )


def of_queue(each: StuckQueue) -> Hand:
    """Runs that wait for nobody."""
    waiting = f"{words.capped(each.count)} {'run waits' if each.count == 1 else 'runs wait'}"
    mark, state = STUCK, "ready"
    if each.paused_at is not None:
        mark = marks.PAUSED
        reason = f" ({words.plain(each.pause_reason)})" if each.pause_reason else ""
        why = f"{waiting}; paused by {each.paused_by}{reason}"
    elif each.taken_at is not None:
        mark, state = FULL, "running"
        why = f"{waiting}, and no slot comes free; a timeout ends what hangs"
    else:
        why = f"{waiting}, and no worker serves it: koken worker --queue {each.queue}"
    return Hand(
        id=f"queue-{each.queue}",
        mark=mark,
        title=each.queue,
        href=f"/queues/{quote(each.queue, safe='')}",
        what="queue",
        text=why,
        since=each.paused_at or each.taken_at or each.since,
        links=[
            (f"/queues/{quote(each.queue, safe='')}", "Queue"),
            (runs_where(queue=each.queue, state=state), "Runs"),
        ],
    )


def of_slow(each: SlowRun) -> Hand:
    """A run that takes too long."""
    href = f"/runs/{each.run_id}"
    usual = f"its runs take up to {in_words(each.expected)}" if each.expected else ""
    ends = "its time is nearly over" if each.until else ""
    return Hand(
        id=f"slow-{each.run_id}",
        mark=marks.LATE,
        title=each.job,
        href=href,
        text="; ".join(filter(None, (usual, ends))),
        since=each.since,
        links=[(href, "Look")],
    )


def of_late(each: LateSchedule) -> Hand:
    """A schedule that should have fired."""
    href = f"/jobs/{quote(each.job, safe='')}"
    text = each.problem or f"{each.expression}: its time has passed and nothing has fired"
    return Hand(
        id=f"late-{each.job}-{each.expression}",
        mark=marks.LATE,
        title=each.job,
        href=href,
        what="schedule",
        text=words.plain(text),
        since=each.since,
        links=[("/workers", "Workers"), (href, "Look")],
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
        id=f"lock-{each.id}",
        mark=HELD,
        title=each.key,
        href="/locks",
        what=each.kind,
        text=f"{words.plain(whose)}; {waiting} for it",
        since=each.since,
        links=links,
    )


def of_key(each: KeyRow) -> Hand:
    """A key that a run keeps for long."""
    href = f"/runs/{each.run_id}"
    return Hand(
        id=f"key-{each.run_id}",
        mark=HELD,
        title=each.job,
        href=href,
        text=words.plain(f"run {each.run_id} keeps key {each.key}; starts under it {each.rule}"),
        since=each.since,
        links=[(href, "Look")],
    )
