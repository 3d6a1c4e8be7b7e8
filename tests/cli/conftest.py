"""A folder with a program, a terminal in it, and a worker for as long as there is work."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from koken.app import load_app
from koken.cli import main
from koken.config import load
from koken.runtime.worker import Worker
from tests.support.moments import until

SHOP = '''
import time

import koken
from koken import Context

app = koken.App("shop")


@app.job
def greet(name: str = "world") -> str:
    """Say hello."""
    print(f"hello {name}")
    return f"hello {name}"


@app.job(queue="reports", max_attempts=2, backoff="10ms", schedule="0 2 * * *", owner="data")
def report(ctx: Context, day: str = "2026-01-01") -> int:
    """Fails at first."""
    ctx.log.warning("attempt %s", ctx.attempt)
    ctx.progress(50, "half")
    if ctx.attempt == 1:
        raise ValueError("not yet\\nreally")
    return 7


@app.job
def broken() -> None:
    raise OSError("no space left")


@app.job
def slow(ctx: Context, seconds: float = 60.0) -> None:
    for n in range(int(seconds * 20)):
        ctx.progress(n, f"step {n}")
        time.sleep(0.05)
'''
ENVIRONMENT = ("KOKEN_APP", "KOKEN_DATABASE_URL", "KOKEN_WORKSPACE", "NO_COLOR", "FORCE_COLOR")


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Koken = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the shop's jobs, in which the process stands; no setting comes from outside."""
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> Koken:
    """Gives a command, without a database."""

    def give(*words: str) -> Said:
        capsys.readouterr()
        before = dict(os.environ)
        try:
            code = main.run(words)
        finally:  # a command may leave the address of a private server for its own process
            os.environ.clear()
            os.environ.update(before)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return give


@pytest.fixture
def koken(terminal: Koken, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Koken:
    """Gives a command to the shop with a database of its own, as ``anna``."""
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    monkeypatch.setenv("KOKEN_APP", "shop:app")
    return lambda *words: terminal(*words, "--by", "anna")


@pytest.fixture
def work(koken: Koken, database_url: str) -> Callable[..., None]:
    """Has a worker of the shop do all that is ready, once a query's value is true."""
    return lambda first="select true": asyncio.run(drain(database_url, first))


async def drain(url: str, first: str) -> None:
    """A worker until the value of ``first`` is true and nothing goes any more."""
    app = load_app("shop:app")
    worker = Worker(app, load({"worker": {"queues": ["default:5", "reports:5"]}}), name="w-1")
    await worker.start()
    try:
        await until(lambda: value(url, first) and not going(url))
    finally:
        await worker.stop()


def going(url: str) -> int:
    """How many runs still go."""
    return int(value(url, "select count(*) from koken.run where finished_at is null"))


def value(url: str, text: str, *args: object) -> Any:
    """The one value of a query."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(text, args).fetchone()
    return row[0] if row else None


def change(url: str, text: str, *args: object) -> None:
    """Change the database behind Koken's back."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(text, args)


@contextmanager
def process(*words: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """``koken`` as a process of its own; killed when it is not gone in the end."""
    with subprocess.Popen(
        [sys.executable, "-c", "from koken.cli.main import main; main()", *words],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def wait_for_line(stream: Any, part: str) -> list[str]:
    """Read lines until one holds ``part``; returns them all."""
    lines: list[str] = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if part in line:
            return lines
    raise AssertionError(f"no line with {part!r}: {lines}")
