"""Pictures of a job's past as SVG: strips of outcomes, lengths over time, a calendar.

They have classes and no styles, so that the page's colours hold. Whatever they tell stands in the
page as text too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, tzinfo
from math import ceil

from markupsafe import Markup

from koken.model.duration import in_words
from koken.model.states import State
from koken.views import clocks, words
from koken.views.durations import Durations, Taken
from koken.views.pastdays import MOST, Day
from koken.views.strips import Outcome, Strip
from koken.web.console.jobwords import told
from koken.web.console.pages import runs_where

CELL, GAP = 7, 2
"""Width of an outcome in a list's strip, and what is free beside it."""
LOWEST, LOW, HIGH = 4, 9, 16
"""Heights there of what has not ended, of what went well, and of what did not."""
BAR, TALL = 10, 64
"""Width of an outcome in a job's strip, and the height of the longest."""
DAY, BETWEEN = 12, 3
SIDE, TOP, CHART = 15.0, 14, 150
"""Of a chart: percents of its width for the scale, and heights; so its words never shrink."""
MOST_LINES = 4
LENGTHS = (
    *(unit * count for unit in (0.001, 0.01, 0.1) for count in (1, 2, 5)),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400),
)
"""Seconds that may lie between two lines of a chart."""
SIZES = tuple(1024.0 * 2**power for power in range(32))
"""Bytes that may lie there."""
WEEKDAYS = ((0, "Mon"), (2, "Wed"), (4, "Fri"))


def small_strip(strip: Strip, most: int = 20) -> Markup:
    """A strip for a list: a column for each run, the latest on the right."""
    width = most * (CELL + GAP) - GAP
    by_look: dict[str, str] = {}
    for place, each in enumerate(strip, most - len(strip)):
        height = LOW if each.state is State.SUCCEEDED else HIGH if each.state.ended else LOWEST
        path = f"M{place * (CELL + GAP)} {HIGH - height}h{CELL}v{height}h-{CELL}z"
        by_look[each.mark.look] = by_look.get(each.mark.look, "") + path
    cells = Markup("").join(
        Markup('<path class="look-{}" d="{}"/>').format(look, path)
        for look, path in by_look.items()
    )
    return Markup(
        '<svg class="strip" role="img" aria-label="{0}" viewBox="0 0 {1} {2}" width="{1}"'
        ' height="{2}"><title>{0}</title><path class="base" d="M0 {3}h{1}"/>{4}</svg>'
    ).format(told(strip), width, HIGH, HIGH - 0.5, cells)


def tall_strip(strip: Strip, now: datetime) -> Markup:
    """A strip for a job's page: heights are lengths, each column leads to its run."""
    longest = max((each.seconds or 0.0 for each in strip), default=0.0) or 1.0
    width, height = len(strip) * (BAR + GAP), TALL + 14
    columns = Markup("").join(column(each, place, longest, now) for place, each in enumerate(strip))
    return Markup(
        '<svg class="strip tall" role="group" aria-label="{0}" viewBox="0 0 {1} {2}" width="{1}">'
        '<path class="base" d="M0 {3}h{1}"/>{4}</svg>'
    ).format(told(strip), width, height, TALL + 1.5, columns)


def column(each: Outcome, place: int, longest: float, now: datetime) -> Markup:
    """One run in a strip; its height goes by the root, so that short ones can be seen."""
    height = max(4.0, TALL * ((each.seconds or 0.0) / longest) ** 0.5)
    length = "" if each.seconds is None else f", took {in_words(each.seconds)}"
    at = clocks.ago(each.ended_at or each.created_at, now)
    title = f"run {each.id} {each.mark.word} {at}{length}"
    x = place * (BAR + GAP)
    return Markup(
        '<a href="/runs/{0}" class="look-{1}" aria-label="{2}"><title>{2}</title>'
        '<rect class="hit" x="{3}" y="0" width="{4}" height="{5}"/>'
        '<rect class="bar" x="{3}" y="{6:.1f}" width="{4}" height="{7:.1f}"/>'
        '<text class="glyph" x="{8}" y="{9}">{10}</text></a>'
    ).format(
        each.id,
        each.mark.look,
        title,
        x,
        BAR,
        TALL + 14,
        TALL - height,
        height,
        x + BAR / 2,
        TALL + 12,
        "" if each.state is State.SUCCEEDED else each.mark.glyph,
    )


def lengths_chart(found: Durations, zone: tzinfo) -> Markup:
    """How long runs took, over time."""
    return chart(
        found.runs,
        lambda each: each.seconds,
        LENGTHS,
        in_words,
        (found.median, found.p95),
        zone,
        f"how long the last {words.counted(len(found.runs), 'run')} took",
    )


def memory_chart(found: Durations, zone: tzinfo) -> Markup:
    """How much memory runs took at their worst, over time."""
    runs = [each for each in found.runs if each.peak_bytes is not None]
    return chart(
        runs,
        lambda each: float(each.peak_bytes or 0),
        SIZES,
        words.size,
        (found.median_bytes, found.p95_bytes),
        zone,
        f"how much memory the last {words.counted(len(runs), 'run')} took",
    )


def chart(
    runs: Sequence[Taken],
    value: Callable[[Taken], float],
    steps: Sequence[float],
    said: Callable[[float], str],
    expected: tuple[float | None, float | None],
    zone: tzinfo,
    label: str,
) -> Markup:
    """Points over time, the median as a line, what 95 of 100 stay below as a band."""
    highest = max([value(each) for each in runs] + [expected[1] or 0.0])
    step = next((each for each in steps if highest / each <= MOST_LINES), highest / MOST_LINES or 1)
    top = step * max(ceil(highest / step), 1)
    first, last = runs[0].at, runs[-1].at
    span = (last - first).total_seconds() or 1.0

    def y_of(number: float) -> float:
        return TOP + CHART * (1 - number / top)

    points = Markup("").join(
        Markup(
            '<circle class="look-{}" cx="{:.1f}%" cy="{:.1f}" r="2.6"><title>{}</title></circle>'
        ).format(
            "failed" if each.state is State.FAILED else "succeeded",
            SIDE + 1 + (98 - SIDE) * (each.at - first).total_seconds() / span
            if len(runs) > 1
            else (SIDE + 100) / 2,
            y_of(value(each)),
            f"run {each.id}: {said(value(each))}",
        )
        for each in runs
    )
    lines = Markup("").join(
        Markup(
            '<line class="rule" x1="{0}%" x2="100%" y1="{1:.1f}" y2="{1:.1f}"/>'
            '<text class="tick end" x="{2}%" y="{3:.1f}">{4}</text>'
        ).format(SIDE, y_of(at), SIDE - 1, y_of(at) + 4, said(at) if at else "0")
        for at in (step * line for line in range(round(top / step) + 1))
    )
    return Markup(
        '<svg class="chart" role="img" aria-label="{0}" width="100%" height="{1}">'
        "<title>{0}</title>{2}{3}{4}"
        '<text class="tick" x="{5}%" y="{6}">{7}</text>'
        '<text class="tick end" x="100%" y="{6}">{8}</text></svg>'
    ).format(
        label,
        TOP + CHART + 20,
        lines,
        expectation(expected, y_of),
        points,
        SIDE,
        TOP + CHART + 16,
        f"{first.astimezone(zone):%-d %b %H:%M}",
        f"{last.astimezone(zone):%-d %b %H:%M}" if len(runs) > 1 else "",
    )


def expectation(
    expected: tuple[float | None, float | None], y_of: Callable[[float], float]
) -> Markup:
    """What is expected of the next run, as a band and a line."""
    median, p95 = expected
    if median is None or p95 is None:
        return Markup("")
    return Markup(
        '<rect class="band" x="{0}%" y="{1:.1f}" width="{2}%" height="{3:.1f}"/>'
        '<line class="median" x1="{0}%" x2="100%" y1="{4:.1f}" y2="{4:.1f}"/>'
    ).format(SIDE, y_of(p95), 100 - SIDE, y_of(0) - y_of(p95), y_of(median))


def calendar(job: str, days: Sequence[Day]) -> Markup:
    """A cell for each day, weeks from left to right, each day on which something ran a link."""
    left, above = 30, 16
    weeks = (len(days) + 6) // 7
    step = DAY + BETWEEN
    width, height = left + weeks * step, above + 7 * step
    names = Markup("").join(
        Markup('<text class="tick" x="0" y="{}">{}</text>').format(above + row * step + 10, name)
        for row, name in WEEKDAYS
    )
    months = Markup("").join(
        Markup('<text class="tick" x="{}" y="10">{}</text>').format(
            left + place // 7 * step, f"{each.day:%b}"
        )
        for place, each in enumerate(days)
        if each.day.day <= 7 and each.day.weekday() == 0 and place // 7 < weeks - 1
    )
    cells = Markup("").join(
        day_cell(job, each, left + place // 7 * step, above + place % 7 * step)
        for place, each in enumerate(days)
    )
    return Markup(
        '<svg class="calendar" role="group" aria-label="{}" viewBox="0 0 {} {}" width="{}">'
        "{}{}{}</svg>"
    ).format(f"runs a day over {weeks} weeks", width, height, width, names, months, cells)


def day_cell(job: str, day: Day, x: int, y: int) -> Markup:
    """One day: coloured by its worst outcome, a cross where something failed."""
    cell = Markup('<rect class="day {0}" x="{1}" y="{2}" width="{3}" height="{3}" rx="2"/>').format(
        f"look-{day.look}", x, y, DAY
    )
    if day.look in ("failed", "acknowledged"):
        cell += Markup('<path class="cross {}" d="M{} {}l5 5m0 -5l-5 5"/>').format(
            f"look-{day.look}", x + 3.5, y + 3.5
        )
    if not day.total:
        return Markup("<g><title>{}</title>{}</g>").format(day_told(day), cell)
    return Markup('<a href="{}" tabindex="-1" aria-label="{}"><title>{}</title>{}</a>').format(
        day_link(job, day), day_told(day), day_told(day), cell
    )


def day_told(day: Day) -> str:
    """``30 Nov 2026: 3 succeeded, 1 failed``."""
    parts = [f"{number} {state}" for state, number in day.counts.items()]
    most = f" of the last {MOST}" if day.more else ""
    return f"{day_named(day.day)}: {', '.join(parts) + most if parts else 'no runs'}"


def day_named(day: date) -> str:
    """``30 Nov 2026``."""
    return f"{day:%-d %b %Y}"


def day_link(job: str, day: Day) -> str:
    """Where the runs of a day are listed."""
    shape = "%Y-%m-%dT%H:%M:%SZ"
    return runs_where(job=job, since=f"{day.since:{shape}}", until=f"{day.until:{shape}}")
