"""Windows: when they open and close, as seen from an instant."""

from __future__ import annotations

from datetime import datetime

import pytest

from koken.errors import DeclarationError
from koken.model.window import parse, window

NIGHT, DAYTIME = "22:00-06:00", "08:00-18:00"


@pytest.mark.parametrize(
    ("text", "at", "opens", "closes"),
    [
        (DAYTIME, "2026-03-06T07:00+01:00", "2026-03-06T08:00+01:00", "2026-03-06T18:00+01:00"),
        (DAYTIME, "2026-03-06T08:00+01:00", None, "2026-03-06T18:00+01:00"),
        (DAYTIME, "2026-03-06T17:59:59+01:00", None, "2026-03-06T18:00+01:00"),
        (DAYTIME, "2026-03-06T18:00+01:00", "2026-03-07T08:00+01:00", "2026-03-07T18:00+01:00"),
        (NIGHT, "2026-03-06T12:00+01:00", "2026-03-06T22:00+01:00", "2026-03-07T06:00+01:00"),
        (NIGHT, "2026-03-06T23:30+01:00", None, "2026-03-07T06:00+01:00"),
        (NIGHT, "2026-03-07T00:30+01:00", None, "2026-03-07T06:00+01:00"),
        (NIGHT, "2026-03-07T06:00+01:00", "2026-03-07T22:00+01:00", "2026-03-08T06:00+01:00"),
        ("00:00-24:00", "2026-03-06T12:00+01:00", None, "2026-03-07T00:00+01:00"),
        ("6:00-7:30", "2026-03-06T04:59Z", "2026-03-06T06:00+01:00", "2026-03-06T07:30+01:00"),
        # the clock goes from 2:00 to 3:00: a time in between comes at 3:00
        (
            "02:30-04:00",
            "2026-03-29T01:00+01:00",
            "2026-03-29T03:00+02:00",
            "2026-03-29T04:00+02:00",
        ),
        (
            "02:10-02:50",
            "2026-03-29T01:00+01:00",
            "2026-03-30T02:10+02:00",
            "2026-03-30T02:50+02:00",
        ),
        (NIGHT, "2026-03-28T23:00+01:00", None, "2026-03-29T06:00+02:00"),
        # it goes back from 3:00 to 2:00: a time counts when it is shown first
        ("01:00-02:30", "2026-10-25T01:30+02:00", None, "2026-10-25T02:30+02:00"),
    ],
)
def test_window(text: str, at: str, opens: str | None, closes: str) -> None:
    assert window(text, datetime.fromisoformat(at), "Europe/Berlin") == (
        opens and datetime.fromisoformat(opens),
        datetime.fromisoformat(closes),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("22-6", "'22-6' is no window. Write it as '22:00-06:00'."),
        ("22:00", "'22:00' is no window. Write it as '22:00-06:00'."),
        ("22:70-06:00", "'22:70-06:00' is no window. Write it as '22:00-06:00'."),
        (7, "7 is no window. Write it as '22:00-06:00'."),
        ("24:00-06:00", "'24:00-06:00': a day has the hours 00:00 to 24:00."),
        ("22:00-24:30", "'22:00-24:30': a day has the hours 00:00 to 24:00."),
        (
            "06:00-06:00",
            "'06:00-06:00' opens and closes at once. Write '00:00-24:00' for a day.",
        ),
    ],
)
def test_what_is_no_window(text: object, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse(text)
    assert str(caught.value) == message
