"""Problems in words."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import TypeAdapter, ValidationError

from koken.define.problems import by_path, invalid, path_of, shown


@pytest.mark.parametrize(
    ("location", "path"),
    [((), ""), (("day",), "day"), (("files", 2, "name"), "files[2].name"), ((0, "x"), "[0].x")],
)
def test_path(location: tuple[int | str, ...], path: str) -> None:
    assert path_of(location) == path


@pytest.mark.parametrize(
    ("hint", "value", "problem"),
    [
        (date, "yesterday", "'yesterday' is not a date (YYYY-MM-DD)"),
        (date, "2013-02-31", "'2013-02-31' is not a date (YYYY-MM-DD)"),
        (date, [], "[] is not a date (YYYY-MM-DD)"),
        (datetime, "noon", "'noon' is not an instant (YYYY-MM-DDTHH:MM:SS+00:00)"),
        (time, "noon", "'noon' is not a time of day (HH:MM:SS)"),
        (timedelta, "x", "'x' is not a length of time (seconds, or ISO 8601 such as PT5M)"),
        (int, "1.5", "'1.5' is not a whole number"),
        (int, 1.5, "1.5 is not a whole number"),
        (float, "x", "'x' is not a number"),
        (bool, "x", "'x' is not true or false"),
        (str, 5, "5 is not text"),
        (list[int], "x", "'x' is not a list"),
        (dict[str, int], [], "[] is not an object with named fields"),
        (UUID, "x", "'x' is not a UUID"),
        (Decimal, "x", "'x' is not a decimal number"),
        (Literal["a", "b", "c"], "x", "'x' is not one of 'a', 'b', 'c'"),
    ],
)
def test_pydantic_in_our_words(hint: Any, value: object, problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(hint).validate_python(value)
    assert by_path(caught.value) == {"": problem}


def test_long_values_are_cut() -> None:
    assert shown("x" * 100) == "'" + "x" * 59 + "…"


def test_message_of_several_problems() -> None:
    error = invalid("report", {"day": "is missing", "": "x"}, end="Nothing was started.")
    assert str(error) == "report(day): is missing; x. Nothing was started."
    assert str(invalid("report", {"dya": "is no argument. Did you mean day?"})) == (
        "report(dya): is no argument. Did you mean day?"
    )
