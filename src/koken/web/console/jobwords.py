"""What is said of a job: its first sentence, its rules, its health. Pure; the time is given."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from koken.model.duration import in_words
from koken.model.firing import MOST_COUNTED
from koken.model.policy import Overlap
from koken.model.schedule import Catchup
from koken.model.states import State
from koken.views import words
from koken.views.catalog import ScheduleRow
from koken.views.cause import listed
from koken.views.jobfacts import JobFacts
from koken.views.joblines import Health, JobLine
from koken.views.strips import Strip, failing_since

OVERLAP = {
    Overlap.ALLOW: "A run starts even while another one goes.",
    Overlap.SKIP_IF_RUNNING: "While a run goes, the next one is skipped.",
    Overlap.SKIP_IF_FAILED: (
        "After a failure that nobody has acknowledged or repaired, the next runs are skipped."
    ),
    Overlap.SKIP_IF_RUNNING_OR_FAILED: (
        "While a run goes, or after a failure that nobody has acknowledged or repaired, the next "
        "runs are skipped."
    ),
    Overlap.QUEUE_ONE: "While a run goes, one more waits for its end; further ones are skipped.",
    Overlap.QUEUE_ALL: "While a run goes, the next ones wait in line, one after the other.",
    Overlap.REPLACE: "A new run cancels the one that goes, and takes its place.",
    Overlap.REFUSE: "While a run goes, a start of another one is refused.",
}
"""What happens when a run is due while another one of the job goes."""
OVERLAP_BRIEFLY = {
    Overlap.ALLOW: "both go",
    Overlap.SKIP_IF_RUNNING: "skipped",
    Overlap.SKIP_IF_FAILED: "both go; skipped after a failure",
    Overlap.SKIP_IF_RUNNING_OR_FAILED: "skipped, also after a failure",
    Overlap.QUEUE_ONE: "one waits",
    Overlap.QUEUE_ALL: "all wait in line",
    Overlap.REPLACE: "takes its place",
    Overlap.REFUSE: "refused",
}
"""The same in a cell of a table."""
CATCHUP = {
    Catchup.NONE: "Times that passed while no scheduler ran stay missed.",
    Catchup.LATEST: "Of the times that passed while no scheduler ran, the last is made up for.",
    Catchup.ALL: (
        "Times that passed while no scheduler ran are all made up for, the oldest first, at most "
        "{limit} of them."
    ),
    Catchup.COALESCE: "One run stands for all the times that passed while no scheduler ran.",
}
CATCHUP_BRIEFLY = {
    Catchup.NONE: "left out",
    Catchup.LATEST: "the latest runs",
    Catchup.ALL: "all run",
    Catchup.COALESCE: "one run for all",
}
"""What becomes of times that passed, in a cell of a table."""
EFFECT = {
    "pure": "pure: running it again changes nothing outside",
    "idempotent": "idempotent: running it twice is as running it once",
    "transactional": "transactional: what it does is undone where it fails",
    "once": "once: what it does outside is told apart by a key",
    "unsafe": "unsafe: running it again may repeat what it did outside",
}
HEALTH = {
    Health.FAILING: "failing",
    Health.LATE: "late",
    Health.PAUSED: "paused",
    Health.ACKNOWLEDGED: "failed, seen to",
    Health.NEW: "no end yet",
    Health.HEALTHY: "healthy",
}


def opening(facts: JobFacts, schedules: Sequence[ScheduleRow], strip: Strip, now: datetime) -> str:
    """The sentence of a job's page, without its name: when it runs, and how it has gone."""
    if facts.retired_at is not None:
        first = f"was retired {words.ago(facts.retired_at, now)}: no program declares it any more"
    else:
        first = runs_when(schedules, now)
    return f"{first}; {past(strip, now)}."


def runs_when(schedules: Sequence[ScheduleRow], now: datetime) -> str:
    """When a job runs: ``runs at 02:00 every day, Europe/Berlin, next in 3 h``."""
    if not schedules:
        return "runs when somebody or something starts it"
    bad = next((row for row in schedules if row.problem), None)
    if bad is not None:
        return f"cannot fire: {words.plain(bad.problem or '')}"
    going = [row for row in schedules if row.paused_at is None]
    if not going:
        row = schedules[0]
        return f"has been paused by {row.paused_by} {words.so_long(row.paused_at, now)}"
    first = min((row.next_at for row in going if row.next_at), default=None)
    if first is None:
        following = "and is due never again"
    elif (now - first).total_seconds() > 60:
        following = f"and is late: it was due {words.ago(first, now)}"
    else:
        following = f"next {words.due(first, now)}"
    if len(schedules) == 1:
        return f"runs {small(schedules[0].words)}, {following}"
    return f"runs by {words.counted(len(schedules), 'schedule')}, {following}"


def small(text: str) -> str:
    """A sentence's words inside another one."""
    return text[:1].lower() + text[1:]


def past(strip: Strip, now: datetime) -> str:
    """How the latest runs have gone."""
    if not strip:
        return "it has never run"
    ended = [each for each in strip if each.state in (State.SUCCEEDED, State.FAILED)]
    going = unended(strip)
    first = failing_since(strip)
    if first is not None:
        streak = [each for each in strip if each.bad and each.id >= first.id]
        if len(streak) == 1:
            return f"its last run failed {words.ago(first.ended_at, now)}{going}"
        since = words.ago(first.ended_at, now)
        return f"its last {len(streak)} runs failed, the first of them {since}{going}"
    if not ended:
        return f"none of its latest runs has got to an end{going}"
    length = took(strip)
    if len(ended) == 1:
        return f"its only run {ended[0].state}{f' and took {length}' if length else ''}{going}"
    counts = Counter(each.state for each in strip if each.state.ended)
    if set(counts) == {State.SUCCEEDED}:
        told = f"the last {len(ended)} runs all succeeded"
        return f"{told}{f' and take {length}' if length else ''}{going}"
    bad = [f"{number} {state}" for state, number in counts.items() if state is not State.SUCCEEDED]
    told = f"of the last {sum(counts.values())} runs {listed(bad)}"
    return f"{told}{f'; they take {length}' if length else ''}{going}"


def unended(strip: Strip) -> str:
    """What of a strip is at work, and what is not yet."""
    going = sum(each.state is State.RUNNING or each.mark.look == "running" for each in strip)
    waiting = sum(not each.state.ended for each in strip) - going
    parts = [
        f"{number} {one if number == 1 else many}"
        for number, one, many in ((going, "goes", "go"), (waiting, "waits", "wait"))
        if number
    ]
    return f"; now {' and '.join(parts)}" if parts else ""


def took(strip: Strip) -> str:
    """How long the successes of a strip take, as a rule."""
    lengths = [
        each.seconds for each in strip if each.state is State.SUCCEEDED and each.seconds is not None
    ]
    return in_words(statistics.median(lengths)) if lengths else ""


def health(line: JobLine, now: datetime) -> str:
    """A job's health in words: ``failing for 3 h``."""
    if line.health is Health.FAILING:
        first = failing_since(line.strip)
        return f"failing {words.so_long(first.ended_at, now)}" if first else "failing"
    if line.health is Health.NEW and not line.strip:
        return "never ran"
    if line.health is Health.LATE and line.next_at is not None and line.next_at < now:
        return f"late, was due {words.ago(line.next_at, now)}"
    return HEALTH[line.health]


def told(strip: Strip) -> str:
    """A strip as text: ``the last 20 runs: 18 succeeded, 2 failed``."""
    if not strip:
        return "no runs yet"
    counts = Counter(each.state for each in strip)
    parts = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    return f"the last {words.counted(len(strip), 'run')}: {parts}"


def overlap(rule: str | None, *, scheduled: bool) -> str:
    """What happens when runs meet."""
    if rule is None:
        rule = Overlap.SKIP_IF_RUNNING if scheduled else Overlap.ALLOW
    return OVERLAP[Overlap(rule)]


def catchup(rule: str, limit: int) -> str:
    """What becomes of due times that nobody fired."""
    return CATCHUP[Catchup(rule)].format(limit=f"{limit:,}")


def times(count: int) -> str:
    """How many due times a tick stands for."""
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


def rules(spec: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rules of a job as facts: a name and what it is."""
    backoff, lock = spec["backoff"], spec["lock"]
    limits = [
        f"{name} {in_words(spec[key])}"
        for name, key in (
            ("attempt", "timeout"), ("until it starts", "start_timeout"), ("whole", "run_timeout")
        )
        if spec[key] is not None
    ]  # fmt: skip
    found = [
        (
            "Attempts",
            f"{spec['max_attempts']}{retried(backoff) if spec['max_attempts'] > 1 else ''}",
        ),
        ("Time limits", ", ".join(limits)),
        ("Lock", locked(lock) if lock else ""),
        ("When it runs again", EFFECT.get(spec["effect"] or "", "")),
        ("After success", spec["on_success"] or ""),
        ("After failure", spec["on_failure"] or ""),
        (
            "Runs stay",
            ", ".join(
                f"{state} {in_words(kept).removesuffix(' 0 h')}"
                for state, kept in spec["keep"].items()
            ),
        ),
    ]
    return [(name, text) for name, text in found if text]


def locked(lock: Mapping[str, Any]) -> str:
    """What a job's runs hold while they go."""
    many = "" if lock["limit"] == 1 else f", {lock['limit']} at once"
    shared = ", shared" if lock["mode"] == "shared" else ""
    return f"{lock['key']}{many}{shared}; while it is held: {lock['when_held']}"


def retried(backoff: Mapping[str, Any] | None) -> str:
    """How long it waits between attempts."""
    if backoff is None:
        return ", waits as the program computes"
    base, cap = in_words(backoff["base"]), in_words(backoff["cap"])
    if backoff["kind"] == "fixed":
        return f", {base} apart"
    grows = "grows by as much" if backoff["kind"] == "linear" else "doubles"
    return f", first {base} apart, {grows} up to {cap}"
