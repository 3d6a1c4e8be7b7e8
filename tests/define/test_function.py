"""Functions as bodies: what a call may be, what comes back in the worker, what a result becomes."""

from __future__ import annotations

import dataclasses
import enum
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.function import Function
from koken.errors import DeclarationError, InvalidArguments
from koken.model.codec import Unstorable
from koken.model.outcome import Retry


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Webhook(BaseModel):
    type: Literal["WEBHOOK"] = "WEBHOOK"
    url: str


class Reduce(BaseModel):
    type: Literal["REDUCE"] = "REDUCE"
    approve: bool = False


class Report(BaseModel):
    day: date
    page: Path


Request = Annotated[Webhook | Reduce, Field(discriminator="type")]


def report(ctx: Context, day: date | None = None) -> Report | Retry:
    """Yesterday's delays.

    Safe to repeat.
    """
    raise NotImplementedError


def nothing() -> None:
    raise NotImplementedError


def rich(
    colour: Colour,
    point: Point,
    request: Request,
    count: Annotated[int, Field(ge=0)] = 0,
    *,
    wait: timedelta = timedelta(hours=1),
    files: list[str] | None = None,
    anything: Any = None,
) -> dict[str, int]:
    raise NotImplementedError


async def fetch(ctx: AsyncContext, url: str) -> list[date]:
    raise NotImplementedError


def unannotated(number, day="today"):  # type: ignore[no-untyped-def]  # as people try things out
    raise NotImplementedError


REPORT = Function(report, label="delay_report")
NOTHING = Function(nothing, label="nothing")
RICH = Function(rich, label="rich")
FETCH = Function(fetch, label="fetch")


def test_what_it_knows_of_the_function() -> None:
    assert (REPORT.fn, REPORT.is_async, REPORT.takes_context) == (report, False, True)
    assert (FETCH.fn, FETCH.is_async, FETCH.takes_context) == (fetch, True, True)
    assert (NOTHING.is_async, NOTHING.takes_context) == (False, False)
    assert REPORT.description == "Yesterday's delays.\n\nSafe to repeat."
    assert RICH.argument_names == (
        "colour",
        "point",
        "request",
        "count",
        "wait",
        "files",
        "anything",
    )
    assert RICH.required == ("colour", "point", "request")
    assert RICH.defaults == {"count": 0, "wait": "PT1H", "files": None, "anything": None}
    assert (REPORT.usual_executor, FETCH.usual_executor) == ("thread", "loop")


def test_arguments_as_a_json_schema() -> None:
    assert REPORT.parameters == {
        "title": "delay_report",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "day": {
                "anyOf": [{"format": "date", "type": "string"}, {"type": "null"}],
                "default": None,
                "title": "Day",
            }
        },
    }
    assert NOTHING.parameters["properties"] == {}


def test_call_becomes_plain_values_by_name() -> None:
    assert REPORT.bind((date(2013, 1, 31),), {}) == {"day": "2013-01-31"}
    assert REPORT.bind((), {"day": "2013-01-31"}) == {"day": "2013-01-31"}
    assert RICH.bind(
        (Colour.RED, Point(1), Reduce(approve=True)), {"wait": timedelta(minutes=5), "files": ["a"]}
    ) == {
        "colour": "red",
        "point": {"x": 1, "y": 0.5},
        "request": {"type": "REDUCE", "approve": True},
        "wait": "PT5M",
        "files": ["a"],
    }


def test_what_a_call_leaves_out_is_left_out() -> None:
    assert REPORT.bind((), {}) == {}
    assert NOTHING.bind((), {}) == {}


def test_wrong_type_in_the_words_of_the_design() -> None:
    with pytest.raises(InvalidArguments) as caught:
        REPORT.bind((), {"day": "yesterday"})
    assert str(caught.value) == (
        "delay_report(day): 'yesterday' is not a date (YYYY-MM-DD). Nothing was started."
    )
    assert caught.value.problems == {"day": "'yesterday' is not a date (YYYY-MM-DD)"}


def test_every_problem_is_named_by_its_path() -> None:
    with pytest.raises(InvalidArguments) as caught:
        RICH.bind(("green", {"x": "one"}, {"type": "WEBHOOK"}), {"count": -1, "files": ["a", 2]})
    assert caught.value.problems == {
        "colour": "'green' is not one of 'red', 'blue'",
        "point.x": "'one' is not a whole number",
        "request.WEBHOOK.url": "is missing",
        "count": "-1: Input should be greater than or equal to 0",
        "files[1]": "2 is not text",
    }


@pytest.mark.parametrize(
    ("args", "kwargs", "problems"),
    [
        ((), {}, {"colour": "is missing", "point": "is missing", "request": "is missing"}),
        (
            ("red", {"x": 1}, {"type": "REDUCE"}),
            {"color": "red"},
            {"color": "is not an argument. Did you mean colour?"},
        ),
        (
            ("red", {"x": 1}, {"type": "REDUCE"}),
            {"colour": "red"},
            {"colour": "is given twice"},
        ),
        (
            ("red", {"x": 1}, {"type": "REDUCE"}, 1, timedelta(0)),
            {},
            {"": "takes 4 arguments without a name, 5 were given"},
        ),
    ],
)
def test_call_that_python_would_refuse(
    args: tuple[Any, ...], kwargs: dict[str, Any], problems: dict[str, str]
) -> None:
    with pytest.raises(InvalidArguments) as caught:
        RICH.bind(args, kwargs)
    assert caught.value.problems == problems


def test_what_is_missing_hides_nothing_that_is_wrong() -> None:
    problems = {
        "color": "is not an argument. Did you mean colour?",
        "point": "is missing",
        "request": "is missing",
        "colour": "'violet' is not one of 'red', 'blue'",
    }
    texts = {"color": "red", "colour": "violet"}
    for bind in (lambda: RICH.bind_plain(texts), lambda: RICH.bind_text(texts)):
        with pytest.raises(InvalidArguments) as caught:
            bind()
        assert caught.value.problems == problems


def test_function_without_arguments_refuses_any() -> None:
    with pytest.raises(InvalidArguments) as caught:
        NOTHING.bind((1,), {})
    assert str(caught.value) == (
        "nothing: takes no arguments without a name, 1 were given. Nothing was started."
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a\x00b", "anything holds a NUL character (U+0000), which PostgreSQL cannot store"),
        ("a\ud800b", "anything holds a lone surrogate, which is no character"),
        ({"deep": [float("nan")]}, "anything.deep[0] is nan, which JSON has no form for"),
        (object(), "Unable to serialize unknown type: <class 'object'>"),
        (
            "x" * 4_194_305,
            (
                "anything is 4,194,307 bytes as JSON; the limit is 4,194,304. "
                "Store it elsewhere and keep its address"
            ),
        ),
    ],
)
def test_what_the_database_cannot_hold_is_refused_by_name(value: object, problem: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        RICH.bind(("red", {"x": 1}, {"type": "REDUCE"}), {"anything": value})
    assert caught.value.problems == {"anything": problem}


def test_arguments_that_are_too_large_together() -> None:
    with pytest.raises(InvalidArguments, match=r"^rich: the whole is \d[\d,]+ bytes as JSON"):
        RICH.bind(
            ("red", {"x": 1}, {"type": "REDUCE"}),
            {"anything": "x" * 3_000_000, "files": ["x" * 3_000_000]},
        )


def test_json_values_are_read_as_json() -> None:
    class Strict(BaseModel, strict=True):
        day: date

    def body(strict: Strict) -> None:
        raise NotImplementedError

    body.__annotations__["strict"] = Strict
    function = Function(body, label="strict")
    assert function.bind_plain({"strict": {"day": "2013-01-31"}}) == {
        "strict": {"day": "2013-01-31"}
    }


def test_texts_from_a_terminal() -> None:
    assert REPORT.bind_text({"day": "2013-01-31"}) == {"day": "2013-01-31"}
    assert REPORT.bind_text({"day": "null"}) == {"day": None}
    assert FETCH.bind_text({"url": "5"}) == {"url": "5"}
    assert RICH.bind_text(
        {
            "colour": "red",
            "point": '{"x": 1}',
            "request": '{"type": "REDUCE"}',
            "count": "5",
            "files": '["a"]',
            "anything": "7",
        }
    ) == {
        "colour": "red",
        "point": {"x": 1, "y": 0.5},
        "request": {"type": "REDUCE", "approve": False},
        "count": 5,
        "files": ["a"],
        "anything": 7,
    }


@pytest.mark.parametrize(
    ("texts", "problems"),
    [
        ({"day": "yesterday"}, {"day": "'yesterday' is not a date (YYYY-MM-DD)"}),
        ({"dya": "1"}, {"dya": "is not an argument. Did you mean day?"}),
        ({"day": "\udcff"}, {"day": "day holds a lone surrogate, which is no character"}),
    ],
)
def test_wrong_texts_from_a_terminal(texts: dict[str, str], problems: dict[str, str]) -> None:
    with pytest.raises(InvalidArguments) as caught:
        REPORT.bind_text(texts)
    assert caught.value.problems == problems


def test_worker_gets_typed_arguments_back() -> None:
    assert REPORT.arguments({"day": "2013-01-31"}) == {"day": date(2013, 1, 31)}
    plain = RICH.bind((Colour.RED, Point(1), Webhook(url="u")), {"wait": timedelta(minutes=5)})
    assert RICH.arguments(plain) == {
        "colour": Colour.RED,
        "point": Point(1, 0.5),
        "request": Webhook(url="u"),
        "wait": timedelta(minutes=5),
    }


def test_no_arguments_cost_nothing() -> None:
    assert NOTHING.arguments({}) == {}
    assert NOTHING.arguments({}) is REPORT.arguments({})


def test_stored_arguments_that_no_longer_fit() -> None:
    with pytest.raises(InvalidArguments) as caught:
        NOTHING.arguments({"day": "2013-01-31"})
    assert str(caught.value) == "nothing(day): Extra inputs are not permitted."


def test_result_goes_out_and_comes_back_by_its_annotation() -> None:
    result = Report(day=date(2013, 1, 31), page=Path("x.html"))
    assert REPORT.dump(result) == '{"day":"2013-01-31","page":"x.html"}'
    assert REPORT.load({"day": "2013-01-31", "page": "x.html"}) == result
    assert FETCH.dump([date(2013, 1, 31)]) == '["2013-01-31"]'
    assert FETCH.load(["2013-01-31"]) == [date(2013, 1, 31)]


def test_none_is_null() -> None:
    assert NOTHING.dump(None) == "null"
    assert REPORT.dump(None) == "null"
    assert REPORT.load(None) is None


def test_result_of_another_type() -> None:
    assert REPORT.dump({"day": "2013-01-31", "page": "x"}) == '{"day":"2013-01-31","page":"x"}'
    with pytest.raises(TypeError) as caught:
        REPORT.dump(5)
    assert str(caught.value) == "the result is of type int, but the function says -> Report"


def test_result_that_cannot_be_kept() -> None:
    with pytest.raises(Unstorable) as caught:
        NOTHING.dump("a\x00b")
    assert str(caught.value) == (
        "the result holds a NUL character (U+0000), which PostgreSQL cannot store"
    )


def test_function_without_annotations_takes_json() -> None:
    function = Function(unannotated, label="unannotated")
    assert function.bind(([1, "a"],), {}) == {"number": [1, "a"]}
    assert function.arguments({"number": [1, "a"]}) == {"number": [1, "a"]}
    assert function.dump({"a": date(2013, 1, 31)}) == '{"a":"2013-01-31"}'
    assert function.load({"a": "2013-01-31"}) == {"a": "2013-01-31"}


def test_default_that_json_cannot_hold_may_still_be_left_out() -> None:
    def body(limit: float = float("inf")) -> None:
        raise NotImplementedError

    function = Function(body, label="limited")
    assert (function.required, function.defaults) == ((), {})
    assert function.bind((), {}) == {}


@pytest.mark.parametrize(
    ("function", "executor", "message"),
    [
        (FETCH, "thread", "executor 'thread' carries out def, not async def; leave it out."),
        (NOTHING, "loop", "executor 'loop' carries out async def, not def; leave it out."),
        (
            Function(lambda: None, label="small"),
            "process",
            (
                "executor 'process' imports the function anew, and cannot reach <lambda>. "
                "Move it to the top of its module."
            ),
        ),
    ],
)
def test_executor_that_cannot_carry_it_out(function: Function, executor: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        function.check_executor(executor)
    assert str(caught.value) == message
