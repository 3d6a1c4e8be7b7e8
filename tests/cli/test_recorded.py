"""What the terminal says of the steps that a body records, and of runs below runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from koken.app import load_app
from koken.config import load
from koken.runtime.worker import Worker
from tests.cli.conftest import Koken, Said, value
from tests.support.moments import until

ORDERS = '''
import koken
from koken import Context, Operation, Snooze

app = koken.App("orders")


class Batch(Operation[int, str, int]):
    def submit(self, item: int, key: str) -> str:
        return f"b-{item}"

    def find(self, item: int, key: str) -> str | None:
        return None

    def poll(self, item: int, handle: str) -> int | Snooze:
        return Snooze("1h") if item == 9 else item * 2

    def cancel(self, item: int, handle: str) -> None:
        pass


@app.job
def inner(n: int = 0) -> int:
    print(f"inner {n}")
    return n + 1


def same(item: int) -> int:
    return item


def cancel_it(result: str) -> None:
    print(f"cancelled {result}")


@app.job
def order(ctx: Context, way: str = "") -> None:
    print("an order")
    ctx.using(compensate=cancel_it).step("reserve", str, "r-1")
    ctx.map("resize", same, [1, 2, 3])
    ctx.step("bill", inner, 4)
    ctx.step("batch", Batch(), 3)
    ctx.start(inner, 5)
    if way == "wait":
        ctx.step("slow", Batch(), 9)
    raise OSError("no card")


@app.workflow
def night() -> None:
    """A job and a workflow as steps."""


@app.workflow
def deep() -> None:
    """Fails."""


@deep.step
def fetch() -> None:
    print("fetching")
    raise OSError("no answer")


@night.step
def files() -> list[int]:
    print("two files")
    return [1, 2]


@night.step(each={"file": files})
def table(file: int) -> int:
    print(f"file {file}")
    return file


night.step(deep, name="sub")
'''


@pytest.fixture
def orders(folder: Path, koken: Koken, monkeypatch: pytest.MonkeyPatch) -> Koken:
    """Gives a command to the program of the orders."""
    (folder / "orders.py").write_text(ORDERS)
    monkeypatch.setenv("KOKEN_APP", "orders:app")
    return koken


@pytest.fixture
def work(orders: Koken, database_url: str) -> Callable[[str], None]:
    """Has a worker go on until the value of a query is true."""

    async def whole(query: str) -> None:
        worker = Worker(load_app("orders:app"), load({"worker": {"queues": ["default:5"]}}))
        await worker.start()
        try:
            await until(lambda: value(database_url, query))
        finally:
            await worker.stop()

    return lambda query: asyncio.run(whole(query))


OVER = "select count(*) = 0 from koken.run where finished_at is null"


def steady(said: Said) -> list[str]:
    """The lines; times that pass are … ."""
    text = re.sub(r"\d\d:\d\d(:\d\d)?", "…", said.out)
    text = re.sub(r"\d+(\.\d)? (ms|s|min|h|d)( ago)?\b|\bjust now\b", "…", text)
    return text.splitlines()


def test_what_a_body_has_recorded(orders: Koken, work: Callable[[str], None]) -> None:
    orders("run", "order")
    work(OVER)
    assert steady(orders("steps", "1")) == [
        "order 1  ✗ failed  5 ✓",
        "STEP          RUN  STATE        DONE  TOOK  SAYS",
        'reserve         –  ✓ succeeded           –  "r-1"',
        "resize          –  ✓ succeeded   3/3     –",
        "bill            2  ✓ succeeded           –  5  → inner 2",
        'batch           –  ✓ succeeded           –  6  handle "b-3", submitted once',
        "inner           3  ✓ succeeded           –  → inner 3",
        "undo reserve    4  ✓ succeeded        0:00",
    ]
    lines = steady(orders("show", "1"))
    at = lines.index('  ✓ reserve                –   "r-1"')
    assert lines[at + 1 : at + 6] == [
        "  ✓ resize    3/3          –",
        "  ✓ bill                   –   5  → inner 2",
        '  ✓ batch                  –   6  handle "b-3", submitted once',
        "  ✓ inner                  –   → inner 3",
        "  ✓ undo reserve          0:00",
    ]
    assert steady(orders("why", "1"))[1] == "  it has done inner, batch, bill and 2 more"
    assert steady(orders("graph", "1"))[1:] == [
        "✓  reserve  succeeded",
        "✓  resize   succeeded  3/3",
        "✓  bill     succeeded       → inner 2",
        '✓  batch    succeeded       handle "b-3", submitted once',
        "✓  inner    succeeded       → inner 3",
        "  ✓ undo reserve          0:00",
    ]
    codes = orders("steps", "1", "--codes").out
    assert codes == "reserve 4\nresize 4\nbill 4\nbatch 4\ninner 4\n"
    plain = orders("steps", "1", "--json").json["items"]
    assert plain[2]["child"] == {"run": "2", "job": "inner", "state": "succeeded"}
    assert [each["undoes"] for each in plain] == [False] * 5 + [True]


def test_the_lines_of_a_bodys_steps(orders: Koken, work: Callable[[str], None]) -> None:
    orders("run", "order")
    work(OVER)
    lines = steady(orders("logs", "1"))
    assert "… bill | inner 4" in lines
    assert "… inner 3 | inner 5" in lines
    assert lines[-1] == "… undo reserve | cancelled r-1"
    told = "is a step of its body: its lines are in the run's own log: koken logs 1"
    for command in ("logs", "show"):
        said = orders(command, "1", "reserve")
        assert (said.code, said.out, said.err) == (0, "", f"reserve of order 1 {told}\n")
    assert steady(orders("logs", "1", "bill")) == ["… inner 4"]
    assert orders("show", "1", "bill").lines[0].startswith("inner bill 2  ✓ succeeded")
    assert orders("logs", "1", "nothing").code == 3


def test_an_operation_that_goes_on(orders: Koken, work: Callable[[str], None]) -> None:
    orders("run", "order", "way=wait")
    work("select count(*) = 1 from koken.run where wait_cause = 'operation'")
    told = '  ◔ slow                   –   at work elsewhere  until …  handle "b-9", submitted once'
    assert told in steady(orders("show", "1"))
    assert steady(orders("why", "1"))[2:4] == [
        "  it has done inner, batch, bill and 2 more",
        '  slow  at work elsewhere (handle "b-9", submitted once) until …',
    ]
    assert orders("steps", "1", "--codes").lines[-1] == "slow 2"


def test_runs_below_a_workflow(orders: Koken, work: Callable[[str], None]) -> None:
    orders("run", "night")
    work(OVER)
    reason = "StepFailed: deep 5 failed: step fetch: OSError: no answer"
    assert steady(orders("show", "1"))[1:4] == [
        "  ✓ files             0:00   2 files",
        "  ✓ table   2/2       0:00   2 items",
        f"  ✗ sub     1/1       0:00   {reason}   koken logs 1 sub",
    ]
    lines = [re.sub(r" +", " ", line) for line in steady(orders("why", "1"))]
    assert lines[1].startswith(f" sub {reason}")
    assert lines[2].startswith(" sub → fetch OSError: no answer")
    assert "StepFailed" in orders("steps", "4").out
    assert orders("steps", "4", "--json").json["items"][0]["child"]["run"] == "5"


def test_the_lines_of_a_workflow(orders: Koken, work: Callable[[str], None]) -> None:
    orders("run", "night")
    work(OVER)
    lines = steady(orders("logs", "1"))
    assert lines[0] in ("… files | two files", "… sub → fetch | fetching")
    assert {"… files | two files", "… table[0] | file 1", "… sub → fetch | fetching"} < {*lines}
    assert steady(orders("logs", "1", "-f")) == lines
    assert steady(orders("logs", "1", "--limit", "2")) == lines[-2:]
    items = sorted(steady(orders("logs", "1", "table")))
    assert items == ["… table[0] | file 1", "… table[1] | file 2"]
    assert steady(orders("logs", "1", "sub"))[0] == "… deep 5 → fetch | fetching"
    assert {"run": "2", "step": "files"}.items() <= next(
        each for each in orders("logs", "1", "--json").json["items"] if each["text"] == "two files"
    ).items()


def test_a_job_that_no_database_knows(
    orders: Koken, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", "postgresql://postgres@127.0.0.1:1/none")
    said = orders("graph", "deep")
    assert (said.code, said.lines) == (0, ["deep, as declared", "○  fetch"])
    assert said.err == "koken: no database answers; drawn as the app declares it\n"
    assert orders("graph", "1").code == 5
    assert orders("graph", "nothing").code == 3
