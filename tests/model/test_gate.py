"""Gates, on the logical time of a run, in a zone."""

from __future__ import annotations

from datetime import datetime

import pytest

from koken.errors import DeclarationError
from koken.model.gate import decide, parse

BERLIN = "Europe/Berlin"
OPEN = ("open", None)
SKIP = ("skip", None)


def hold(until: str) -> tuple[str, str]:
    return "hold", until


@pytest.mark.parametrize(
    ("expression", "logical_at", "decision"),
    [
        # time fields: not before, on the run's own day
        ("30 16 * * *", "2026-03-06T10:00+01:00", hold("2026-03-06T16:30+01:00")),
        ("30 16 * * *", "2026-03-06T16:29:59+01:00", hold("2026-03-06T16:30+01:00")),
        ("30 16 * * *", "2026-03-06T16:30+01:00", OPEN),
        ("30 16 * * *", "2026-03-06T20:00+01:00", OPEN),
        ("30 16 * * *", "2026-03-06T15:29Z", hold("2026-03-06T16:30+01:00")),
        ("* * * * *", "2026-03-06T10:00+01:00", OPEN),
        # of several times the earliest of the day
        ("0,30 16 * * *", "2026-03-06T10:00+01:00", hold("2026-03-06T16:00+01:00")),
        ("0,30 16 * * *", "2026-03-06T16:10+01:00", OPEN),
        ("*/20 8-18/2 * * *", "2026-03-06T07:00+01:00", hold("2026-03-06T08:00+01:00")),
        ("* 16 * * *", "2026-03-06T10:00+01:00", hold("2026-03-06T16:00+01:00")),
        ("30 * * * *", "2026-03-06T00:10+01:00", hold("2026-03-06T00:30+01:00")),
        ("30 * * * *", "2026-03-06T10:10+01:00", OPEN),
        # day fields: skip
        ("* * * * 0,5,6", "2026-03-05T23:59+01:00", SKIP),
        ("* * * * 0,5,6", "2026-03-06T00:00+01:00", OPEN),
        ("* * * * 0,5,6", "2026-03-08T23:59+01:00", OPEN),
        ("* * * * 7", "2026-03-08T12:00+01:00", OPEN),
        ("* * * * FRI-SAT", "2026-03-07T12:00+01:00", OPEN),
        ("* * 15 * *", "2026-03-14T23:59+01:00", SKIP),
        ("* * 15 * *", "2026-03-15T00:00+01:00", OPEN),
        ("* * L * *", "2026-02-28T12:00+01:00", OPEN),
        ("* * * 3 *", "2026-02-28T23:00+01:00", SKIP),
        ("0 12 * * 5", "2026-03-06T08:00+01:00", hold("2026-03-06T12:00+01:00")),
        # as in cron, a day of month and a weekday are alternatives
        ("* * 1 * 5", "2026-03-06T12:00+01:00", OPEN),
        ("* * 1 * 5", "2026-03-01T12:00+01:00", OPEN),
        ("* * 1 * 5", "2026-03-02T12:00+01:00", SKIP),
        # a date within 24 hours
        ("01 00 7 3 *", "2026-03-06T20:00+01:00", hold("2026-03-07T00:01+01:00")),
        ("01 00 7 3 *", "2026-03-06T00:01+01:00", hold("2026-03-07T00:01+01:00")),
        ("01 00 7 3 *", "2026-03-06T00:00+01:00", SKIP),
        ("01 00 7 3 *", "2026-03-07T00:02+01:00", OPEN),
        ("01 00 7 3 *", "2026-03-08T00:02+01:00", SKIP),
        ("30 16 7 3 *", "2026-03-06T10:00+01:00", SKIP),
        ("30 16 7 3 *", "2026-03-06T17:00+01:00", hold("2026-03-07T16:30+01:00")),
        ("* * 7 3 *", "2026-03-06T23:00+01:00", hold("2026-03-07T00:00+01:00")),
        ("1 0 1 1 *", "2026-12-31T22:00+01:00", hold("2027-01-01T00:01+01:00")),
        ("1 0 7 * *", "2026-03-06T20:00+01:00", SKIP),
        ("1 0 * * 6", "2026-03-06T20:00+01:00", SKIP),
        # changes of the clock
        ("30 2 * * *", "2026-03-29T00:30+01:00", hold("2026-03-29T03:00+02:00")),
        ("30 2 * * *", "2026-10-25T00:30+02:00", hold("2026-10-25T02:30+02:00")),
        ("30 3 * * *", "2026-10-25T00:30+02:00", hold("2026-10-25T03:30+01:00")),
        ("30 0 29 3 *", "2026-03-28T00:40+01:00", hold("2026-03-29T00:30+01:00")),
    ],
)
def test_decision(expression: str, logical_at: str, decision: tuple[str, str | None]) -> None:
    verdict, until = decision
    gate = decide(expression, datetime.fromisoformat(logical_at), BERLIN)
    assert (gate.verdict, gate.until) == (verdict, until and datetime.fromisoformat(until))


def test_zone_decides_which_day_it_is() -> None:
    friday_in_berlin = datetime.fromisoformat("2026-03-06T02:00+01:00")
    assert decide("* * * * 5", friday_in_berlin, BERLIN).verdict == "open"
    assert decide("* * * * 5", friday_in_berlin, "America/New_York").verdict == "skip"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("30 16 * * *", "gate 30 16 * * *: not before 2026-03-06 16:30 Europe/Berlin"),
        ("* * * * 0", "gate * * * * 0: Friday 2026-03-06 is not one of its days"),
        ("0 8 * * *", "gate 0 8 * * *: open"),
    ],
)
def test_why(expression: str, text: str) -> None:
    at = datetime.fromisoformat("2026-03-06T10:00+01:00")
    assert decide(expression, at, BERLIN).text == text


@pytest.mark.parametrize(
    "expression",
    [
        "every day at 2am",
        "cron(0 2 * * ? *)",
        "0 2 * * ?",
        "@daily",
        "0 0 2 * * *",
        "5m",
        "",
        5,
        None,
    ],
)
def test_other_dialects_are_refused(expression: object) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse(expression)
    assert str(caught.value) == (
        f"{expression!r} is no gate. A gate has cron's five fields (minute hour day-of-month month "
        "weekday), such as '30 16 * * *'; EventBridge and English are for schedules."
    )


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "30 25 * * *",
            (
                "'30 25 * * *': hour 25 is not in 0-23. "
                "(Field 2 of 5; minute hour day-of-month month weekday.)"
            ),
        ),
        ("* * 30 2 *", "'* * 30 2 *': day of month 30 never comes in month 2."),
    ],
)
def test_wrong_fields(expression: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse(expression)
    assert str(caught.value) == message
