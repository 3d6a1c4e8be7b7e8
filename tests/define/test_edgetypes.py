"""Types along an edge: refused only when they surely do not fit."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Protocol, TypeVar
from uuid import UUID

import pytest
from pydantic import BaseModel, RootModel
from typing_extensions import TypedDict

from koken.define.edgetypes import choices, fits, goes_over, short
from koken.define.signature import EMPTY


class Row(BaseModel):
    n: int = 0


class Wide(Row):
    m: int = 0


class Table(BaseModel):
    n: int = 0


class Numbers(RootModel[list[int]]): ...


class Size(StrEnum):
    BIG = "big"


class Level(Enum):
    LOW = 1


class Plain(TypedDict):
    n: int


class Sized(Protocol):
    def size(self) -> int: ...


T = TypeVar("T")
Id = NewType("Id", int)

FITTING = [
    (Row, Row),
    (Row, Row | None),
    (Wide, Row),
    (Row, Wide),
    (Row, Any),
    (Row, object),
    (Row, T),
    (Row, Sized),
    (Row, dict[str, int]),
    (dict, Row),
    (Plain, Row),
    (EMPTY, int),
    (int, EMPTY),
    (None, int | None),
    (int | None, int),
    (int | str, str),
    (bool, int),
    (int, float),
    (int, Id),
    (int, timedelta),
    (date, datetime),
    (Path, str),
    (str, date),
    (str, Size),
    (int, Level),
    (Literal["a"], str),
    (Annotated[int, "seconds"], int),
    (list, list[Row]),
    (list[Row], typing.List[Row]),  # noqa: UP006  # as people write it
    (list[Row], Sequence[Row]),
    (list[Row], Iterable[Any]),
    (list[int], set[float]),
    (list[int], Numbers),
    (tuple[int, str], list[str]),
]
UNFITTING = [
    (Row, Table),
    (Row, Table | None),
    (Row, list[Row]),
    (list[Row], Row),
    (list[Row], list[Table]),
    (list[list[int]], list[int]),
    (list[int], dict[str, int]),
    (tuple[int, ...], list[str]),
    (int, str),
    (str, int),
    (float, int),
    (Row, str),
    (int, Row),
    (dict, int),
    (None, int),
    (Literal["a"], int),
    (date, Path),
    (UUID, Decimal),
    (str, Id),
]


@pytest.mark.parametrize(("gives", "wants"), FITTING)
def test_may_fit(gives: Any, wants: Any) -> None:
    assert fits(gives, wants)


@pytest.mark.parametrize(("gives", "wants"), UNFITTING)
def test_surely_does_not_fit(gives: Any, wants: Any) -> None:
    assert not fits(gives, wants)


@pytest.mark.parametrize(
    ("hint", "item"),
    [
        (list[Row], Row),
        (Sequence[int], int),
        (tuple[str, ...], str),
        (list, Any),
        (Any, Any),
        (list[int] | None, int),
        (Row, None),
        (dict[str, int], None),
        (str, None),
    ],
)
def test_items(hint: Any, item: Any) -> None:
    assert goes_over(hint) == item


@pytest.mark.parametrize(
    ("hint", "values"),
    [
        (Literal["big", "small"], ("big", "small")),
        (Literal["big"] | None, ("big", None)),
        (Annotated[Literal[1, 2], "x"], (1, 2)),
        (Size, ("big",)),
        (Level, (1,)),
        (str, None),
        (Literal["big"] | int, None),
        (Any, None),
    ],
)
def test_choices(hint: Any, values: tuple[Any, ...] | None) -> None:
    assert choices(hint) == values


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Row, "Row"),
        (list[Row], "list[Row]"),
        (Row | None, "Row | None"),
        (dict[str, list[int]], "dict[str, list[int]]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Literal["a", 1], "Literal['a', 1]"),
        (Annotated[int, "x"], "int"),
        (list[Any], "list[Any]"),
        (Id, "Id"),
        (T, "T"),
        (None, "None"),
    ],
)
def test_short(hint: Any, text: str) -> None:
    assert short(hint) == text
