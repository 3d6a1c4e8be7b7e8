"""The fields of a cron expression: what each may hold, and one line on what is wrong with it.

Both dialects, cron and EventBridge, are rewritten here into the one that ``cronsim`` reads.
"""

from __future__ import annotations

from dataclasses import dataclass

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name, the numbers ``low`` to ``high`` it may hold, and words for them.

    ``top`` ends a step without an end, such as ``1/2``. ``shift`` is taken off each number to get
    the one that ``cronsim`` means.
    """

    name: str
    low: int
    high: int
    top: int
    names: tuple[str, ...] = ()
    shift: int = 0


SECOND = Field("second", 0, 59, 59)
MINUTE = Field("minute", 0, 59, 59)
HOUR = Field("hour", 0, 23, 23)
DAY = Field("day of month", 1, 31, 31)
MONTH = Field("month", 1, 12, 12, MONTHS)
WEEKDAY = Field("weekday", 0, 7, 6, WEEKDAYS)
EVENTBRIDGE_WEEKDAY = Field("weekday", 1, 7, 7, WEEKDAYS, shift=1)
YEAR = Field("year", 1970, 2199, 2199)


def rewritten(field: Field, text: str) -> str:
    """The text of a field in ``cronsim``'s spelling.

    Raises ``ValueError`` with the name of the field and what is wrong with it.
    """
    return ",".join(term(field, part) for part in text.upper().split(","))


def term(field: Field, text: str) -> str:
    """One part of a list: ``*``, a value, a range, either with a step, or a special day."""
    if not text:
        raise ValueError(f"{field.name} has nothing between two commas")
    if field is DAY and (text[0] == "L" or text[-1] in "LW"):
        return special_day(text)
    if field.name == WEEKDAY.name and (text.endswith("L") or "#" in text):
        return special_weekday(field, text)
    body, slash, step = text.partition("/")
    if not slash:
        return span(field, body)
    every = number(field, step, what="step")
    if not 0 < every <= field.high - field.low + 1:
        raise ValueError(f"{field.name} step {every} is not in 1-{field.high - field.low + 1}")
    if body == "*" or "-" in body:
        return f"{span(field, body)}/{every}"
    first, last = value(field, body), field.top - field.shift
    return f"{first}-{last}/{every}" if first < last else str(first)


def span(field: Field, text: str) -> str:
    """``*``, one value or a range."""
    if text == "*":
        return text
    start, dash, end = text.partition("-")
    first = value(field, start)
    if not dash:
        return str(first)
    last = value(field, end)
    if end == "SUN":
        last = 7
    if first > last:
        raise ValueError(f"{field.name} range {text} runs backwards; write it as two, with a comma")
    return f"{first}-{last}"


def value(field: Field, text: str) -> int:
    """One number or name, as ``cronsim`` counts it."""
    if text in field.names:
        return field.low + field.names.index(text) - field.shift
    found = number(field, text)
    if not field.low <= found <= field.high:
        raise ValueError(f"{field.name} {text} is not in {field.low}-{field.high}")
    return found - field.shift


def number(field: Field, text: str, *, what: str = "") -> int:
    """A whole number, written in ASCII digits."""
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return int(text)
    called = f"{field.name} {what}".strip()
    hint = f" or a name like {field.names[1]}" if field.names and not what else ""
    raise ValueError(f"{called} {text!r} is not a number{hint}")


def special_day(text: str) -> str:
    """``L``, ``LW`` or ``15W``."""
    if text in ("L", "LW"):
        return text
    if text.endswith("W"):
        return f"{value(DAY, text[:-1])}W"
    raise ValueError(f"day of month {text!r} is not a day; the last one is L, its last weekday LW")


def special_weekday(field: Field, text: str) -> str:
    """``5L``, the last Friday of the month, or ``5#3``, its third."""
    if text.endswith("L"):
        if text == "L" and field is WEEKDAY:
            raise ValueError("weekday 'L' needs a day: 5L is the last Friday of the month")
        return "6" if text == "L" else f"{value(field, text[:-1])}L"
    day, _, nth = text.partition("#")
    which = number(field, nth, what="after '#'")
    if not 1 <= which <= 5:
        raise ValueError(f"weekday {text}: the number after '#' is not in 1-5")
    return f"{value(field, day)}#{which}"


def numbers(field: Field, text: str) -> frozenset[int]:
    """The numbers that a rewritten field without special days stands for."""
    found: set[int] = set()
    for part in text.split(","):
        body, _, step = part.partition("/")
        start, _, end = body.partition("-")
        first, last = (field.low, field.high) if start == "*" else (int(start), int(end or start))
        found.update(range(first, last + 1, int(step or 1)))
    return frozenset(found)
