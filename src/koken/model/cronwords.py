"""Cron fields in words, as people say them: ``Every 30 minutes``, ``Every 2 hours from 01:00``.

What comes in equal steps is told here, by the numbers that the fields stand for, however they are
written; ``cronsim`` has words for the rest, and for the days.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from cronsim import CronSim

from koken.model import cronfields as fields
from koken.model.cronfields import Field

FEW = 4
"""So many numbers are told one by one."""
SOME_DAY = datetime(2000, 1, 1)
STEPS = {
    word: step
    for step, word in enumerate(
        ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"), 2
    )
}
FINEST = re.compile(r"^Every (\w+) (second|minute)\b")
"""The step of the finest field, as ``cronsim`` words it: ``Every fifth minute``."""
UNUSUAL = re.compile(r"\b([2-9])([123])th\b")
"""Numbers such as the 21st, which it takes to be like the 24th."""


def in_words(cells: Sequence[str]) -> str:
    """The times of six rewritten fields, seconds first."""
    seconds, minutes, hours = (
        sorted(fields.numbers(field, cell))
        for field, cell in zip((fields.SECOND, fields.MINUTE, fields.HOUR), cells, strict=False)
    )
    day, month, weekday = cells[3:]
    days = (
        one_by_one(fields.DAY, day) if weekday == "*" else day,
        one_by_one(fields.MONTH, month),
        one_by_one(fields.WEEKDAY, weekday) if day == "*" else weekday,
    )
    if often := rhythm(seconds, minutes, hours):
        on = explained("0", "0", "0", *days).removeprefix("At 00:00 ")
        return f"{often} {on.removeprefix('every day').strip()}".rstrip()
    times = list(cells[:3])
    if len(hours) == 24:
        times[1] = few(minutes, cells[1])
        times[0] = few(seconds, cells[0]) if len(minutes) == 60 else cells[0]
    elif len(seconds) * len(minutes) * len(hours) <= FEW:
        times = [few(seconds, cells[0]), few(minutes, cells[1]), few(hours, cells[2])]
    return explained(*times, *days)


def explained(*cells: str) -> str:
    """Six fields in the words of ``cronsim``, mended where people say it otherwise."""
    words = FINEST.sub(
        lambda found: f"Every {STEPS.get(found[1]) or found[1].removesuffix('th')} {found[2]}s",
        CronSim(" ".join(cells), SOME_DAY).explain(),
    )
    words = UNUSUAL.sub(
        lambda found: f"{found[1]}{found[2]}{('st', 'nd', 'rd')[int(found[2]) - 1]}", words
    )
    return words.replace(" day of month", " day of the month")


def few(numbers: Sequence[int], cell: str) -> str:
    """A field as a list of its numbers, where they are few."""
    return ",".join(map(str, numbers)) if len(numbers) <= FEW else cell


def one_by_one(field: Field, cell: str) -> str:
    """A field with steps as a list of its numbers, where they are few."""
    if "/" not in cell or not set(cell).isdisjoint("LW#"):
        return cell
    numbers = {n % 7 if field is fields.WEEKDAY else n for n in fields.numbers(field, cell)}
    return few(sorted(numbers), cell)


def rhythm(seconds: Sequence[int], minutes: Sequence[int], hours: Sequence[int]) -> str:
    """How often it is time on its days, where that is in equal steps; else empty."""
    if len(seconds) > 1:
        whole = (len(minutes), len(hours)) == (60, 24)
        return around(seconds, "second", "minute") if whole else ""
    if seconds != [0]:
        return ""
    if len(minutes) == 1:
        return by_hours(hours, minutes[0])
    return around(minutes, "minute", "hour") if len(hours) == 24 else by_minutes(hours, minutes)


def around(numbers: Sequence[int], unit: str, whole: str) -> str:
    """Seconds of every minute, or minutes of every hour."""
    step, first, last = step_of(numbers), numbers[0], numbers[-1]
    even = first + 60 - last == step
    if even and first == 0:
        return every(step, unit)
    if not step or len(numbers) <= FEW:
        return ""
    upto = "" if even else f" through {last}"
    return f"{every(step, unit)} from {unit} {first}{upto} of every {whole}"


def by_minutes(hours: Sequence[int], minutes: Sequence[int]) -> str:
    """Minutes of some hours that follow each other."""
    step = step_of(minutes)
    even = step and minutes[0] == 0 and 60 - minutes[-1] == step
    one_by_one = len(hours) * len(minutes) <= FEW
    if one_by_one or not (step if len(hours) == 1 else even and step_of(hours) == 1):
        return ""
    last = f"{hours[-1]:02}:{minutes[-1]:02}"
    return f"{every(step, 'minute')} from {hours[0]:02}:{minutes[0]:02} through {last}"


def by_hours(hours: Sequence[int], minute: int) -> str:
    """The same minute of some hours."""
    step, first, last = step_of(hours), hours[0], hours[-1]
    if not step or len(hours) <= FEW or len(hours) == 24:
        return ""
    told, even = every(step, "hour"), first + 24 - last == step
    if even and first == minute == 0:
        return told
    upto = "" if even else f" through {last:02}:{minute:02}"
    return f"{told} from {first:02}:{minute:02}{upto}"


def step_of(numbers: Sequence[int]) -> int:
    """What lies between each two of the numbers; 0 where that is not the same everywhere."""
    gaps = {later - one for one, later in pairwise(numbers)}
    return gaps.pop() if len(gaps) == 1 else 0


def every(step: int, unit: str) -> str:
    """``Every minute``, ``Every 5 minutes``."""
    return f"Every {unit}" if step == 1 else f"Every {step} {unit}s"
