"""Results by their return annotation."""

from __future__ import annotations

from datetime import date
from typing import Any, Never

import pytest
from pydantic import BaseModel

from koken.define.result import Result, name_of, without_outcomes
from koken.model.codec import Unstorable
from koken.model.outcome import Cancel, Retry, Skip


class Report(BaseModel):
    data: dict[str, object]


class Longer(Report):
    more: int = 1


@pytest.mark.parametrize(
    ("hint", "rest"),
    [
        (int | Retry, int),
        (Report | Retry | Skip | None, Report | None),
        (Retry, None),
        (Retry | Cancel, None),
        (list[int], list[int]),
        (int | str, int | str),
    ],
)
def test_outcomes_are_no_part_of_a_result(hint: Any, rest: Any) -> None:
    assert without_outcomes(hint) == rest


@pytest.mark.parametrize("hint", [Any, object, None, Never, Retry])
def test_annotations_without_a_form(hint: Any) -> None:
    assert Result(hint, owner="x").form is None


def test_none_whatever_the_annotation_says() -> None:
    assert Result(int, owner="x").dump(None) == "null"
    assert Result(int, owner="x").load(None) is None


@pytest.mark.parametrize("deep", [float("nan"), [float("inf")], {"x": float("nan")}])
def test_nan_deep_inside_is_refused_not_lost(deep: object) -> None:
    with pytest.raises(Unstorable, match=r"^the result\.data\.deep.* is (nan|inf), which JSON"):
        Result(Report, owner="x").dump(Report(data={"deep": deep}))


def test_close_types_are_taken() -> None:
    assert Result(list[int], owner="x").dump((1, 2)) == "[1,2]"
    assert Result(date, owner="x").dump("2013-01-31") == '"2013-01-31"'
    assert Result(Report, owner="x").dump(Longer(data={})) == '{"data":{}}'


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        (int, "int"),
        (list[int], "list[int]"),
        (Any, "Any"),
        ("Table", "Table"),
        (int | None, "int | None"),
    ],
)
def test_names_of_types(hint: Any, name: str) -> None:
    assert name_of(hint) == name
