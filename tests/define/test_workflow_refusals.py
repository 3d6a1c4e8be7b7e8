"""Workflows that could not work, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from enum import StrEnum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from koken.app import App
from koken.define.context import Context
from koken.define.job import Job
from koken.define.operation import Operation
from koken.define.workflow import Workflow
from koken.errors import DeclarationError
from koken.executors import Command
from koken.model.accept import Accept

Flow = Workflow[...]


class Table(BaseModel):
    n: int = 0


class Row(BaseModel):
    n: int = 0


class Size(StrEnum):
    BIG = "big"
    SMALL = "small"


def nightly(day: date, size_limit: int = 3) -> None: ...
def files() -> list[str]: ...  # type: ignore[empty-body]
def rows() -> Row: ...  # type: ignore[empty-body]
def size() -> Literal["big", "small"]: ...  # type: ignore[empty-body]
def nothing() -> None: ...


app = App()


@app.job
def tell(who: str, urgent: bool = False) -> None: ...


def declared(declare: Callable[[Flow], Any]) -> str:
    """What is said of a flow when it is declared, or else when it is asked for."""

    def asked() -> None:
        flow = App().workflow(nightly)
        declare(flow)
        assert flow.spec.steps

    with pytest.raises(DeclarationError) as caught:
        asked()
    return str(caught.value)


def misspelt(flow: Flow) -> None:
    @flow.step
    def crunch() -> int:
        return 1

    @flow.step
    def publish(cruch: int | None = None) -> None: ...


def ring(flow: Flow) -> None:
    @flow.step
    def load(clean: int) -> int:
        return clean

    @flow.step
    def clean(load: int) -> int:
        return load


def table_of_rows(flow: Flow) -> None:
    flow.step(files)

    @flow.step(each={"file": files.__name__})
    def table(file: str) -> Row:
        return Row()

    @flow.step
    def size(table: list[Table]) -> int:
        return 1


def no_list(flow: Flow) -> None:
    flow.step(rows)

    @flow.step
    def count(rows: list[Row]) -> None: ...


def optional(flow: Flow) -> None:
    flow.step(rows)

    @flow.step
    def count(rows: Table | None = None) -> None: ...


def itself(flow: Flow) -> None:
    @flow.step
    def load(load: int) -> int:
        return load


MESSAGES: list[tuple[Callable[[Flow], Any], str]] = [
    (
        misspelt,
        (
            "nightly.publish asks for 'cruch', which is neither a step nor an argument of nightly. "
            "Did you mean 'crunch'?"
        ),
    ),
    (
        ring,
        (
            "nightly has a cycle: load → clean → load. Break it with after=, or make one of "
            "them a job "
            "of its own."
        ),
    ),
    (
        itself,
        (
            "nightly has a cycle: load → load. Break it with after=, or make one of them a "
            "job of its "
            "own."
        ),
    ),
    (
        table_of_rows,
        (
            "nightly.size wants table: list[Table], but step 'table' gives Row for each file. "
            "Write table: list[Row]."
        ),
    ),
    (
        no_list,
        "nightly.count wants rows: list[Row], but step 'rows' gives Row. Write rows: Row.",
    ),
    (
        optional,
        (
            "nightly.count wants rows: Table | None, but step 'rows' gives Row. "
            "Write rows: Row | None."
        ),
    ),
    (
        lambda flow: [flow.step(files), flow.step(files)],
        (
            "nightly has two steps called 'files'. Give one of them another name: "
            'flow.step(…, name="…").'
        ),
    ),
    (
        lambda flow: flow.step(files, name="day"),
        "nightly has an argument and a step called 'day'. Give one of them another name.",
    ),
    (
        lambda flow: [flow.step(files), flow.step(nothing, after=["fils"])],
        "nightly.nothing: after names 'fils', which is no step of nightly. Did you mean 'files'?",
    ),
    (
        lambda flow: flow.step(tell, inputs={"who": "fils"}),
        "nightly.tell: inputs['who'] names 'fils', which is no step of nightly.",
    ),
    (
        lambda flow: [flow.step(files), flow.step(tell, inputs={"whom": "files"})],
        "nightly.tell: inputs names 'whom', which is none of its arguments. Did you mean 'who'?",
    ),
    (
        lambda flow: flow.step(tell),
        "nightly.tell asks for 'who', which is neither a step nor an argument of nightly.",
    ),
    (
        lambda flow: flow.step(Command("./load {dai}"), name="load"),
        (
            "nightly.load asks for 'dai', which is neither a step nor an argument of nightly. "
            "Did you mean 'day'?"
        ),
    ),
    (
        lambda flow: flow.step(lambda file: 1, name="a", each={"file": "fils"}),
        "nightly.a: each['file'] names 'fils', which is neither a step nor an argument of nightly.",
    ),
    (
        lambda flow: [flow.step(files), flow.step(nothing, each={"file": "files"})],
        "nightly.nothing: each names 'file', which is none of its arguments.",
    ),
    (
        lambda flow: [flow.step(rows), flow.step(lambda row: 1, name="a", each={"row": "rows"})],
        "nightly.a goes over each row, but step 'rows' gives Row, which is no list.",
    ),
    (
        lambda flow: flow.step(lambda d: 1, name="a", each={"d": "day"}),
        "nightly.a goes over each d, but argument 'day' is date, which is no list.",
    ),
    (
        lambda flow: [flow.step(files), flow.step(number, each={"n": "files"})],
        "nightly.number wants n: int, but step 'files' gives list[str]. Write n: str.",
    ),
    (
        lambda flow: flow.step(nothing, when={"sise": "big"}),
        "nightly.nothing: when names 'sise', which is neither a step nor an argument of nightly.",
    ),
    (
        lambda flow: [flow.step(size), flow.step(nothing, when={"size": ["big", "smal"]})],
        (
            "nightly.nothing goes when size is 'smal', but step 'size' gives 'big' or 'small'. "
            "Did you mean 'small'?"
        ),
    ),
    (
        lambda flow: [flow.step(size_of), flow.step(nothing, when={"size_of": "huge"})],
        "nightly.nothing goes when size_of is 'huge', but step 'size_of' gives 'big' or 'small'.",
    ),
    (
        lambda flow: [flow.step(files), flow.step(listed, join="all_done")],
        (
            "nightly.listed joins by all_done, so 'files' may have no result when it begins. "
            "Give files a default."
        ),
    ),
    (
        lambda flow: flow.step(nothing, join="all_don"),
        (
            "nightly.nothing: join is 'all_don'; the rules are all_succeeded, all_done, "
            "any_succeeded, "
            "any_failed, none_failed. Did you mean all_done?"
        ),
    ),
    (
        lambda flow: flow.step(nothing, gate="every day at 2am"),
        (
            "nightly.nothing: gate 'every day at 2am' is no gate. A gate has cron's five fields "
            "(minute hour day-of-month month weekday), such as '30 16 * * *'; EventBridge "
            "and English "
            "are for schedules."
        ),
    ),
    (
        lambda flow: flow.step(nothing, window="22-6"),
        "nightly.nothing: window '22-6' is no window. Write it as '22:00-06:00'.",
    ),
    (
        lambda flow: flow.step(nothing, window="22:00-06:00", window_missed="wait"),
        'nightly.nothing: window_missed is \'wait\'; it is "skip" or "fail".',
    ),
    (
        lambda flow: flow.step(nothing, window_missed="fail"),
        "nightly.nothing: window_missed is for a step with window. Leave it out.",
    ),
    (
        lambda flow: flow.step(nothing, at_once=3),
        "nightly.nothing: at_once is for a step with each. Leave it out.",
    ),
    (
        lambda flow: flow.step(nothing, accept=Accept(0.9)),
        "nightly.nothing: accept is for a step with each. Leave it out.",
    ),
    (
        lambda flow: flow.step(number, each={"n": "day"}, accept=0.9),
        "nightly.number: accept is 0.9; write Accept(0.95).",
    ),
    (
        lambda flow: flow.step(number, each={"n": "day"}, at_once=0),
        "nightly.number: at_once is 0; it is a whole number from 1.",
    ),
    (
        lambda flow: flow.step(number, each={"n": "day", "m": "day"}),
        (
            "nightly.number: each is {'n': 'day', 'm': 'day'}; it names one parameter: "
            '{"file": files}.'
        ),
    ),
    (
        lambda flow: flow.step(number, each="files"),
        "nightly.number: each is 'files'; write {\"file\": files}.",
    ),
    (
        lambda flow: flow.step(nothing, after=[nothing]),
        "nightly.nothing: after names the function nothing; give a step, or its name.",
    ),
    (
        lambda flow: flow.step(nothing, after=[App().workflow("other").step(files)]),
        "nightly.nothing: after names 'files', which is a step of other.",
    ),
    (
        lambda flow: flow.step(nothing, priority="high"),
        (
            "job 'nightly.nothing': priority is 'high'; it is a whole number from -32768 to 32767, "
            "smaller first."
        ),
    ),
    (
        lambda flow: flow.step(nothing, lock="cluster:{dai}"),
        (
            "job 'nightly.nothing': lock 'cluster:{dai}' names 'dai'; the arguments are day, "
            "size_limit. Did you mean day?"
        ),
    ),
    (
        lambda flow: flow.step(lambda: 1, name="a", executor="process"),
        (
            "job 'nightly.a': executor 'process' imports the function anew, and cannot reach "
            "<lambda>.<locals>.<lambda>. Move it to the top of its module."
        ),
    ),
    (
        lambda flow: flow.step(nothing, owner="data"),
        "nightly.nothing: there is no option 'owner'.",
    ),
    (
        lambda flow: flow.step(nothing, gat="* * * * 5"),
        "nightly.nothing: there is no option 'gat'. Did you mean gate?",
    ),
    (
        lambda flow: flow.step(tell, max_attempts=3),
        "nightly.tell: max_attempts belongs to the job tell, which this step starts. Set it there.",
    ),
    (
        lambda flow: flow.step(nothing, when="big"),
        (
            'nightly.nothing: when is \'big\'; write when={"size": "big"}, or a function whose '
            "arguments are named like steps."
        ),
    ),
    (
        lambda flow: flow.step(nothing, when=lambda *values: True),
        (
            "nightly.nothing: when: its condition takes *values, but each value has a name; write "
            'when={"size": "big"}, or a function whose arguments are named like steps.'
        ),
    ),
    (
        lambda flow: flow.step(flow),
        "nightly cannot be a step of itself.",
    ),
    (
        lambda flow: flow.step(flow.step(nothing)),
        'nothing is a step already. Declare its function: flow.step(nothing.fn, name="…").',
    ),
    (
        lambda flow: flow.step(Command("ls")),
        'A Command has no name of its own. Write flow.step(Command(…), name="…").',
    ),
    (
        lambda flow: flow.step(nothing, name="a step"),
        (
            "a step of nightly: name is 'a step'; a name is made of letters a-z, digits, _ . "
            "and -, "
            "and does not begin with . or -."
        ),
    ),
    (
        lambda flow: flow.step(3),
        "3 is neither a function nor a body from koken.executors.",
    ),
    (
        lambda flow: flow.step(rows).compensate(undo_of_file),
        "nightly.rows.undo asks for 'file', which is neither a step nor an argument of nightly.",
    ),
    (
        lambda flow: flow.step(rows, name="make").compensate(undo_table),
        "nightly.make.undo wants make: Table, but step 'make' gives Row. Write make: Row.",
    ),
    (
        lambda flow: flow.step(rows, compensate=nothing).compensate(nothing),
        "nightly.rows has a compensation already. Take one out.",
    ),
    (
        lambda flow: flow.step(rows, compensate=tell),
        (
            "nightly.rows.undo: tell is a job, and an undo is a function. Write one that does the "
            "same."
        ),
    ),
    (
        lambda flow: flow.step(rows).compensate(nothing, lock="a"),
        "nightly.rows.undo: there is no option 'lock'.",
    ),
]


def number(n: int) -> int:
    return n


def size_of() -> Size:
    return Size.BIG


def listed(files: list[str]) -> None: ...
def undo_of_file(file: str) -> None: ...
def undo_table(make: Table) -> None: ...


@pytest.mark.parametrize(("declare", "message"), MESSAGES)
def test_refused(declare: Callable[[Flow], Any], message: str) -> None:
    assert declared(declare) == message


def refused(declare: Callable[[App], Any]) -> str:
    with pytest.raises(DeclarationError) as caught:
        declare(App())
    return str(caught.value)


def with_code(day: date) -> None:
    print(day)


def with_result() -> int:
    return 3


def with_docstring(day: date) -> None:
    """Only words."""


def with_pass() -> None:
    """Words."""
    pass  # noqa: PIE790  # as people write it


async def asynchronous() -> None: ...
def with_context(ctx: Context) -> None: ...


@pytest.mark.parametrize("fn", [with_docstring, with_pass, nothing, nightly])
def test_empty_functions(fn: Callable[..., None]) -> None:
    assert App().workflow(fn).steps == {}


@pytest.mark.parametrize("fn", [with_code, with_result])
def test_code_in_the_function_is_refused(fn: Any) -> None:
    assert refused(lambda app: app.workflow(fn, name="nightly")) == (
        "workflow 'nightly' has code in its function; it would never run. "
        "Put it in a step: @nightly.step"
    )


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda app: app.workflow(asynchronous),
            "workflow 'asynchronous' is async def, and never runs. Write def.",
        ),
        (
            lambda app: app.workflow(with_context),
            (
                "workflow 'with_context' asks for the context, but its function never runs. "
                "Ask for it in a step."
            ),
        ),
        (
            lambda app: app.workflow("flow", executor="process"),
            "workflow 'flow' carries out nothing itself. Give executor to its steps.",
        ),
        (
            lambda app: app.workflow(tell),
            "tell is a job already. A workflow is declared by itself.",
        ),
        (
            lambda app: app.workflow(3),
            (
                "3 is neither a name nor a function. Write @app.workflow over an empty "
                "function, or "
                'app.workflow("name").'
            ),
        ),
        (
            lambda app: app.workflow("a flow"),
            (
                "job 'a flow': name is 'a flow'; a name is made of letters a-z, digits, _ . "
                "and -, and "
                "does not begin with . or -."
            ),
        ),
        (
            lambda app: app.workflow(nightly, schedule="0 20 * * *"),
            (
                "job 'nightly' has a schedule, but its argument 'day' has no default. Give "
                "it one, or "
                'Schedule("…", args={"day": …}).'
            ),
        ),
        (
            lambda app: app.job(nothing, fail_fast=True),
            "job 'nothing': fail_fast is for workflows. Leave it out.",
        ),
        (
            lambda app: app.workflow("flow", fail_fast="yes"),
            "job 'flow': fail_fast is 'yes'; write True or False.",
        ),
        (
            lambda app: app.job(nothing, on_failure=tell),
            (
                "job 'nothing': on_failure starts tell, whose argument 'who' has no default "
                "and is no "
                "argument here."
            ),
        ),
        (
            lambda app: app.workflow("flow", on_success=nothing),
            "job 'flow': on_success is the function nothing; give a job, as app.job makes it.",
        ),
    ],
)
def test_workflow_is_refused(declare: Callable[[App], Any], message: str) -> None:
    assert refused(declare) == message


def test_followers() -> None:
    def greet(who: str) -> None: ...

    job = App().job(greet, on_success=tell, on_failure=Job("elsewhere"))
    assert (job.spec.on_success, job.spec.on_failure) == ("tell", "elsewhere")
    assert App().job(greet).spec.on_success is None
    flow = App().workflow("flow", on_success=App().workflow("next"))
    assert (flow.spec.on_success, flow.spec.fail_fast) == ("next", False)


def test_types_that_may_fit_pass() -> None:
    flow = App().workflow(nightly)
    flow.step(rows)
    flow.step(files)

    @flow.step
    def report(rows: dict[str, int], files: Any, day: str) -> None: ...

    assert report.spec.arguments == ("day",)


class Pollless(Operation[int, str, int]):
    def submit(self, item: int, key: str) -> str:
        return key


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (Pollless(), "Pollless has no poll."),
        (
            Pollless,
            "Pollless is the class of an operation; give an instance: Pollless().",
        ),
    ],
    ids=["poll", "class"],
)
def test_what_is_no_whole_operation_is_no_step(target: Any, told: str) -> None:
    assert declared(lambda flow: flow.step(target, name="draft")) == told
