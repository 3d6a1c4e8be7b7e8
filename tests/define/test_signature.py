"""Functions that a run could not call are refused when the program is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, Field

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.function import Function
from koken.define.signature import EMPTY, Parameter, read
from koken.errors import DeclarationError

if TYPE_CHECKING:
    from somewhere import Later, Table


class Connection: ...


class Early(BaseModel):
    later: Later


async def context_of_def(ctx: Context) -> None: ...
def context_of_async(ctx: AsyncContext) -> None: ...
def context_second(day: date, ctx: Context) -> None: ...
async def context_third(day: date, files: list[str], context: AsyncContext) -> None: ...
def two_contexts(ctx: Context, day: date, again: Context) -> None: ...
def positional_only(day: date, /) -> None: ...
def many(*files: str) -> None: ...
def field_default(amount: float = Field(default=1.5, ge=0)) -> None: ...
def named(**files: str) -> None: ...
def first_any(day: Any) -> None: ...
async def first_object(day: object) -> None: ...
def bare_context(ctx) -> None: ...  # type: ignore[no-untyped-def]  # the mistake
async def bare_async(context) -> None: ...  # type: ignore[no-untyped-def]  # the mistake
def method(self) -> None: ...  # type: ignore[no-untyped-def]  # the mistake
def yields() -> Iterator[int]:
    yield 1


def hidden_type(table: Table) -> None: ...
def odd_argument(connection: Connection) -> None: ...
def odd_result() -> dict[str, Connection]: ...
def odd_hint(day: date.tomorrow) -> None: ...
def too_early(early: Early) -> None: ...
def unspeakable(call: Callable[[], int]) -> None: ...


UNFIT = (
    "which cannot be kept as JSON. Use a plain value, a pydantic model or a dataclass, or the key "
    "of something larger."
)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (
            context_of_def,
            "job 'report' is async def, but asks for Context. Write ctx: AsyncContext.",
        ),
        (
            context_of_async,
            "job 'report' is def, but asks for AsyncContext. Write ctx: Context.",
        ),
        (
            context_second,
            (
                "job 'report': the context comes first: "
                "def context_second(ctx: Context, day: date). Found it as argument 2."
            ),
        ),
        (
            context_third,
            (
                "job 'report': the context comes first: async def context_third(context: "
                "AsyncContext, day: date, files: list[str]). Found it as argument 3."
            ),
        ),
        (
            two_contexts,
            "job 'report': two_contexts asks for the context twice. Take again out.",
        ),
        (
            positional_only,
            (
                "job 'report': argument 'day' is positional-only, but a run gives arguments by "
                'name. Take the "/" out of def positional_only(…).'
            ),
        ),
        (
            field_default,
            (
                "job 'report': the default of 'amount' is a Field(…), which the function would get "
                "as it is. Write amount: Annotated[float, Field(…)] = 1.5, and the default outside "
                "of it."
            ),
        ),
        (
            many,
            (
                "job 'report' takes *files, but each argument of a run has a name and a type. "
                "Write them out, or take one list or dict."
            ),
        ),
        (
            named,
            (
                "job 'report' takes **files, but each argument of a run has a name and a type. "
                "Write them out, or take one list or dict."
            ),
        ),
        (
            first_any,
            (
                "job 'report': the first argument 'day' is typed Any, which type checkers take for "
                "the context. Give it a type, or ask for the context: "
                "def first_any(ctx: Context, day: Any)."
            ),
        ),
        (
            first_object,
            (
                "job 'report': the first argument 'day' is typed object, which type checkers take "
                "for the context. Give it a type, or ask for the context: "
                "async def first_object(ctx: AsyncContext, day: object)."
            ),
        ),
        (bare_context, "job 'report': 'ctx' has no type. Write ctx: Context."),
        (bare_async, "job 'report': 'context' has no type. Write context: AsyncContext."),
        (
            method,
            (
                "job 'report' is a method and asks for 'self', which a run does not have. "
                "Declare a function."
            ),
        ),
        (
            yields,
            (
                "job 'report' yields; a job answers once. "
                "Return a list, or save() what is done so far."
            ),
        ),
        (
            hidden_type,
            (
                "job 'report': a type hint of hidden_type names 'Table', which is not known in its "
                "module. Import it there, outside `if TYPE_CHECKING:`."
            ),
        ),
        (
            odd_hint,
            (
                "job 'report': a type hint of odd_hint is none: type object 'datetime.date' has no "
                "attribute 'tomorrow'."
            ),
        ),
        (odd_argument, f"job 'report': argument 'connection' has the type Connection, {UNFIT}"),
        (odd_result, f"job 'report' returns dict[str, {__name__}.Connection], {UNFIT}"),
        (
            unspeakable,
            (
                "job 'report': argument 'call' has the type collections.abc.Callable[[], int], "
                f"{UNFIT}"
            ),
        ),
        (
            too_early,
            (
                "job 'report': argument 'early' has the type Early, which uses a class that is not "
                "defined yet. Declare the job after that class."
            ),
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_function_that_is_refused(fn: Callable[..., Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Function(fn, label="report")
    assert str(caught.value) == message


def good(ctx: Context, day: date, note: Any = "", *, size: int = 3) -> list[int]: ...


def test_signature_without_the_context() -> None:
    signature = read(good, "good")
    assert (signature.takes_context, signature.is_async) == (True, False)
    assert signature.result == list[int]
    assert signature.parameters == (
        Parameter(name="day", hint=date, default=EMPTY),
        Parameter(name="note", hint=Any, default=""),
        Parameter(name="size", hint=int, default=3, keyword_only=True),
    )
