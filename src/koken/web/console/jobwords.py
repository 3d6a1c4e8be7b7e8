"""What is said of a job: its first sentence, its rules, its health. Pure; the time is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from koken.model.duration import in_words
from koken.model.firing import MOST_COUNTED
from koken.model.policy import Overlap
from koken.model.schedule import Catchup
from koken.model.states import State
from koken.views import marks, words
from koken.views.catalog import ScheduleRow
from koken.views.cause import listed
from koken.views.jobfacts import JobFacts
from koken.views.joblines import Health, JobLine
from koken.views.strips import Strip, failing_since
from koken.web.console.timetags import Times

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
GOING = ("running", "cancelling", "compensating")
"""Looks of runs at work."""
HEALTH = {
    Health.FAILING: "failing",
    Health.LATE: "late",
    Health.OPEN: "open failures",
    Health.PAUSED: "paused",
    Health.ACKNOWLEDGED: "failed, acknowledged",
    Health.NEW: "no end yet",
    Health.HEALTHY: "healthy",
}


def opening(
    facts: JobFacts,
    schedules: Sequence[ScheduleRow],
    strip: Strip,
    rule: float | None,
    times: Times,
) -> Markup:
    """The sentence of a job's page, without its name: when it runs, and how it has gone.

    ``rule``: the seconds that it takes as a rule, where that can be said.
    """
    if facts.retired_at is not None:
        text = Markup("was retired {}: no program declares it any more")
        first = text.format(times.ago(facts.retired_at))
    else:
        first = runs_when(schedules, times)
    return Markup("{}; {}.").format(first, past(strip, rule, times))


def runs_when(schedules: Sequence[ScheduleRow], times: Times) -> Markup:
    """When a job runs: ``runs at 02:00 every day, Europe/Berlin, next in 3 h``."""
    if not schedules:
        return Markup("runs when somebody or something starts it")
    bad = next((row for row in schedules if row.problem), None)
    if bad is not None:
        return Markup("cannot fire: {}").format(words.plain(bad.problem or ""))
    going = [row for row in schedules if row.paused_at is None]
    if not going:
        row = schedules[0]
        text = Markup("has been paused by {} {}")
        return text.format(row.paused_by, times.so_long(row.paused_at))
    first = min((row.next_at for row in going if row.next_at), default=None)
    if first is None:
        following = Markup("and is due never again")
    elif (times.now - first).total_seconds() > 60:
        following = Markup("and is late: it was due {}").format(times.ago(first))
    else:
        following = times.due(first, "next")
    if len(schedules) == 1:
        return Markup("runs {}, {}").format(small(schedules[0].words), following)
    many = words.counted(len(schedules), "schedule")
    paused = len(schedules) - len(going)
    if paused:
        many += f", of which {paused} {'is' if paused == 1 else 'are'} paused"
    return Markup("runs by {}, {}").format(many, following)


def small(text: str) -> str:
    """A sentence's words inside another one."""
    return text[:1].lower() + text[1:]


def past(strip: Strip, rule: float | None, times: Times) -> str:
    """How the latest runs have gone, and how long one takes as a rule."""
    if not strip:
        return "it has never run"
    ended = [each for each in strip if each.state in (State.SUCCEEDED, State.FAILED)]
    going = unended(strip)
    first = failing_since(strip)
    if first is not None:
        streak = [each for each in strip if each.bad and each.id >= first.id]
        if len(streak) == 1:
            return Markup("its last run failed {}{}").format(times.ago(first.ended_at), going)
        text = Markup("its last {} runs failed, the first of them {}{}")
        return text.format(len(streak), times.ago(first.ended_at), going)
    if not ended:
        return f"none of its latest runs has got to an end{going}"
    if len(ended) == 1:
        (only,) = ended
        length = f" and took {in_words(only.seconds)}" if only.seconds is not None else ""
        return f"its only run {only.state}{length}{going}"
    takes = f"; one takes {in_words(rule)} as a rule" if rule is not None else ""
    counts = Counter(each.state for each in strip if each.state.ended)
    if set(counts) == {State.SUCCEEDED}:
        return f"the last {len(ended)} runs all succeeded{takes}{going}"
    bad = [f"{number} {state}" for state, number in counts.items() if state is not State.SUCCEEDED]
    return f"of the last {sum(counts.values())} runs {listed(bad)}{takes}{going}"


def unended(strip: Strip) -> str:
    """What of a strip is at work, and what is not yet."""
    going = sum(each.mark.look in GOING for each in strip)
    waiting = sum(not each.state.ended for each in strip) - going
    parts = [
        f"{number} {one if number == 1 else many}"
        for number, one, many in ((going, "goes", "go"), (waiting, "waits", "wait"))
        if number
    ]
    return f"; now {' and '.join(parts)}" if parts else ""


def health(line: JobLine, times: Times) -> str:
    """A job's health in words: ``failing for 3 h``."""
    if line.health is Health.FAILING:
        first = failing_since(line.strip)
        return Markup("failing {}").format(times.so_long(first.ended_at)) if first else "failing"
    if line.health is Health.NEW and not line.strip:
        return "never ran"
    if line.health is Health.LATE and line.next_at is not None and line.next_at < times.now:
        return Markup("late, was due {}").format(times.ago(line.next_at))
    return HEALTH[line.health]


def told(strip: Strip) -> str:
    """A strip as text: ``the last 20 runs: 18 succeeded, 2 failed``."""
    if not strip:
        return "no runs yet"
    how = marks.tally(each.mark for each in strip)
    return f"the last {words.counted(len(strip), 'run')}: {how}"


def overlap(rule: str | None, *, scheduled: bool) -> str:
    """What happens when runs meet."""
    if rule is None:
        rule = Overlap.SKIP_IF_RUNNING if scheduled else Overlap.ALLOW
    return OVERLAP[Overlap(rule)]


def catchup(rule: str, limit: int) -> str:
    """What becomes of due times that nobody fired."""
    return CATCHUP[Catchup(rule)].format(limit=f"{limit:,}")


def after_pause(paused: Sequence[ScheduleRow]) -> str:
    """What becomes of the due times of a pause, when a job's schedules are resumed."""
    rules = {Catchup(row.catchup) for row in paused}
    if rules == {Catchup.ALL}:
        return "What fell due meanwhile is made up for: each time by a run of its own."
    if rules == {Catchup.COALESCE}:
        return "What fell due meanwhile is made up for: one run stands for all of it."
    if rules & {Catchup.ALL, Catchup.COALESCE}:
        return "What fell due meanwhile is made up for as each schedule says."
    return "What fell due meanwhile is recorded as skipped; the next time counts."


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
