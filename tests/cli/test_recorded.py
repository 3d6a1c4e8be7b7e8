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
    text = re.sub(r"\d+(\.\d)? (ms|s|min|h|d)( ago)?\b|\bnow\b", "…", text)
    return text.splitlines()


def test_it(orders: Koken, work: Callable[[str], None]) -> None:
    orders("run", "order")
    work(OVER)
    for words in ("show 1", "steps 1", "why 1", "graph 1", "logs 1", "logs 1 reserve", "logs 1 bill", "show 1 reserve", "show 1 bill","watch 1"):
        said = orders(*words.split())
        open("/tmp/k3/play/out.txt", "a").write(f"$ {words} {said.code}\n{said.out}{said.err}\n")
    orders("run", "order", "way=wait")
    work("select count(*) = 1 from koken.run where wait_cause = 'operation'")
    for words in ("show order", "steps order", "why order", "graph order"):
        said = orders(*words.split())
        open("/tmp/k3/play/out.txt", "a").write(f"$ {words} {said.code}\n{said.out}{said.err}\n")


def test_flow(orders: Koken, work: Callable[[str], None]) -> None:
    print(orders("run", "night"))
    work(OVER)
    for words in ("show 1", "steps 1", "why 1", "graph 1", "graph night", "logs 1", "logs 1 -f", "logs 1 table", "logs 1 sub", "show 1 sub", "watch 1", "why 3"):
        said = orders(*words.split())
        open("/tmp/k3/play/out.txt", "a").write(f"$ {words} {said.code}\n{said.out}{said.err}\n")
