"""How people are told things: times, lengths, runs. Pure; the time is given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from koken.model.duration import in_words
from koken.model.run import FROM_FORM, Run
from koken.model.runparts import Children
from koken.model.states import State, WaitCause
from koken.views.cause import HAPPENED, Cause, listed
from koken.views.marks import of_run

if TYPE_CHECKING:
    from koken.views.catalog import ScheduleRow

JUST_NOW = 1.0
"""Seconds around now that no clock tells apart."""
STEPWISE = {"skip": "", "resolve": "", "fork": "--from "}
"""Commands that name a step, and what stands before it."""
GIVES_UP = (WaitCause.SIGNAL, WaitCause.QUESTION)
"""Waits whose time is not that of what is waited for."""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0)) if code != ord("\t")}


def ago(instant: datetime | None, now: datetime) -> str:
    """``12 min ago``, ``in 3 h``, ``just now``; ``–`` for no instant."""
    if instant is None:
        return "–"
    length = (now - instant).total_seconds()
    if abs(length) < JUST_NOW:
        return "just now"
    return f"{roughly(length)} ago" if length > 0 else f"in {roughly(-length)}"


def due(instant: datetime | None, now: datetime) -> str:
    """``in 1 s`` also for what is due in less; ``just now`` for what is over due by as little."""
    if instant is not None and 0 < (instant - now).total_seconds() < JUST_NOW:
        return "in 1 s"
    return ago(instant, now)


def so_long(instant: datetime | None, now: datetime) -> str:
    """For how long something has been so: ``for 12 min``; ``–`` for no instant."""
    if instant is None:
        return "–"
    length = (now - instant).total_seconds()
    return "for a moment" if length < JUST_NOW else f"for {roughly(length)}"


def lasted(cause: Cause, now: datetime) -> str:
    """Since when a cause is: ``for 12 min``; of what has happened ``12 min ago``."""
    return (ago if cause.cause in HAPPENED else so_long)(cause.since, now)


def roughly(length: float) -> str:
    """Seconds in one unit, as is enough for how long ago something was."""
    for unit, size, until in (("s", 1, 100), ("min", 60, 5400), ("h", 3600, 172800)):
        if length < until:
            return f"{length / size:.0f} {unit}"
    return f"{length / 86400:.0f} d"


def clock(instant: datetime) -> str:
    """The time of day on this machine's clock: ``18:02:50``."""
    return f"{instant.astimezone():%H:%M:%S}"


def time_of(instant: datetime) -> str:
    """The time of day, with seconds where they matter: ``04:30``."""
    local = instant.astimezone()
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def took(run: Run[Any], now: datetime) -> str:
    """How long a run has been at work, or was: its latest attempt, without waits before it."""
    if run.started_at is None:
        return "–"
    end = run.ended_at or (now if run.state is State.RUNNING or run.phase == "running" else None)
    return "–" if end is None else length_of(begun(run), end)


def begun(run: Run[Any]) -> datetime | None:
    """When the latest attempt at a run began; one that is made of others began once.

    That one is told as if it had begun later by as long as it had ended meanwhile, so that from
    there on the time at work is counted.
    """
    if not run.children or run.started_at is None:
        return run.claimed_at or run.started_at
    return run.started_at + timedelta(seconds=run.idle)


def length_of(start: datetime | None, end: datetime | None) -> str:
    """The time between two instants."""
    if start is None or end is None:
        return "–"
    return in_words(max((end - start).total_seconds(), 0.0))


def glyph(run: Run[Any]) -> str:
    """The sign of a run's state."""
    return of_run(run).glyph


def retrying(run: Run[Any]) -> bool:
    """Whether a run waits for its next attempt."""
    return run.wait is not None and run.wait.cause is WaitCause.RETRY


def word(run: Run[Any]) -> str:
    """The word for a run's state."""
    return of_run(run).word


def called(run: Run[Any]) -> str:
    """``nightly 412``; a step is called after its job and itself: ``nightly crunch 416``."""
    return f"{run.job} {run.id}" if run.step is None else f"{run.job} {plain(run.step)} {run.id}"


def about(run: Run[Any], args: Mapping[str, Any] | None = None) -> str:
    """What a run is about: its subject, its key, or its arguments.

    ``args`` are these as they may be shown, where that is not as they are.
    """
    key = run.idempotency_key or ""
    told = arguments(run.args if args is None else args)
    return run.subject or ("" if key.startswith(FROM_FORM) else key) or told


def arguments(args: Mapping[str, Any]) -> str:
    """``day=2026-11-30 size=3``."""
    return " ".join(f"{name}={brief(value)}" for name, value in args.items())


def brief(value: Any) -> str:
    """A plain value in a line: texts as they are, the rest as JSON."""
    return plain(value) if isinstance(value, str) else dump(value)


def dump(value: Any) -> str:
    """A plain value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def plain(text: str) -> str:
    """One line without what would steer a terminal."""
    return ESCAPES.sub("", text).replace("\n", " ⏎ ").translate(CONTROLS)


def expression(row: ScheduleRow) -> str:
    """When a schedule fires, as it is written, with the zone where it matters."""
    matters = row.words.endswith(row.timezone) and row.timezone not in row.expression
    return f"{row.expression}, {row.timezone}" if matters else row.expression


def trigger(run: Run[Any]) -> str:
    """Who or what started a run, in short."""
    return run.trigger.by or run.trigger.kind.value


def started_by(run: Run[Any], zone: tzinfo | None = None) -> str:
    """Who or what started a run, as part of a sentence; a due time is told in ``zone``.

    None: this machine's.
    """
    if run.trigger.schedule is not None and run.trigger.due_at is not None:
        due = run.trigger.due_at.astimezone(zone)
        return f"tick {due:%Y-%m-%d %H:%M %Z} ({run.trigger.schedule})"
    return f"started by {run.trigger.by or run.trigger.kind.value}"


def tries(run: Run[Any]) -> str:
    """``1/3``."""
    return f"{run.attempt}/{run.max_attempts}"


def standing(run: Run[Any], now: datetime, names: Sequence[str] = ()) -> str:
    """Where a run stands, without its name: ``failed 12 min ago, attempt 3 of 3: OSError: …``.

    ``names`` are the steps of it that go, where they are known.
    """
    attempt = tried(run)
    reason = f": {plain(run.reason)}" if run.reason else ""
    if run.state.ended:
        closed = f" (acknowledged by {run.acknowledged_by})" if run.acknowledged_by else ""
        tries = f", {attempt}" if run.state is State.FAILED and attempt else ""
        return f"{word(run)} {ago(run.ended_at, now)}{tries}{reason}{closed}"
    if run.children and run.phase in ("running", "compensating"):
        return f"{word(run)} for {took_so_far(run, now)}: {going(run.children, names)}"
    if run.state is State.RUNNING:
        since = f" for {took(run, now)}" if run.started_at else ""
        return f"{word(run)} on {run.worker}{since}{', ' if attempt else ''}{attempt}"
    until = ""
    if run.wait is not None and run.wait.until is not None:
        until = f", {by_then(run.wait.cause, run.wait.until, now)}"
    if retrying(run):
        return f"waits for its next attempt{until}; {attempt} failed{reason}"
    return f"{word(run)}{until}"


def took_so_far(run: Run[Any], now: datetime) -> str:
    """How long a run goes that is made of others."""
    return length_of(begun(run) or run.created_at, now)


def tried(run: Run[Any]) -> str:
    """``attempt 1 of 2``; nothing for a workflow, whose steps are what is tried."""
    return "" if run.is_workflow else f"attempt {run.attempt} of {run.max_attempts}"


def by_then(cause: str, until: datetime, now: datetime) -> str:
    """``due in 3 s``; of a wait that somebody else ends ``gives up in 7 d``."""
    verb = "gives up" if cause in GIVES_UP else "due"
    return f"{verb} {due(until, now)}"


def going(children: Children, names: Sequence[str]) -> str:
    """``3 of its runs go: size, crunch and table``."""
    which = f": {plain(listed(names))}" if names else ""
    return f"{children.going:,} of its runs {'goes' if children.going == 1 else 'go'}{which}"


def watch_clock(length: float | None) -> str:
    """A length as a clock shows it: ``0:12``, ``3:58:10``; ``–`` for none."""
    if length is None:
        return "–"
    minutes, seconds = divmod(int(length), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def ending(run: Run[Any]) -> str:
    """How a run ended, for whoever waited: ``succeeded in 0.9 s → 1256``."""
    if run.state is State.SUCCEEDED:
        result = "" if run.result is None else f" → {plain(dump(run.result))}"
        return f"succeeded in {length_of(begun(run), run.ended_at)}{result}"
    if run.state is State.FAILED:
        attempt = tried(run)
        return f"failed{', ' if attempt else ''}{attempt}: {plain(run.reason)}"
    return f"{word(run)}: {plain(run.reason)}" if run.reason else word(run)


def ways(run: Run[Any]) -> list[str]:
    """The commands that are legal now, the safest first."""
    looks = () if run.state.ended else ("why", "watch")
    return [way(run, verb) for verb in (*looks, *run.actions)]


def way(run: Run[Any], verb: str) -> str:
    """A command on a run; what is done with a step names its workflow and the step."""
    if verb not in STEPWISE:
        return f"{verb} {run.id}"
    step = "STEP" if run.step is None or run.is_workflow else plain(run.step)
    return f"{verb} {run.id if step == 'STEP' else run.parent_id} {STEPWISE[verb]}{step}"


def counted(number: int, thing: str, things: str = "") -> str:
    """``1 run``, ``1,204 runs``; above 1,000 of what is counted that far, see ``capped``."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def capped(number: int) -> str:
    """A number that was counted up to 1,000."""
    return "1,000+" if number > 1000 else f"{number:,}"


def address(url: str) -> str:
    """Where a database is, without the password: ``db.example:5432/app``."""
    parts = urlsplit(url)
    at = parts.netloc.rpartition("@")[2] or "localhost"
    return f"{at}{parts.path}"
