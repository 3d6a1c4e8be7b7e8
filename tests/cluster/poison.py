"""A program whose bodies answer, raise, print and keep what no database takes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import koken
from koken import AsyncContext, Context
from koken.executors import Command

app = koken.App("poison")

HUGE = 10**140_000
"""JSON has no limit for numbers; Python's reading and PostgreSQL's numeric have."""
VALUES: dict[str, Callable[[], Any]] = {
    "nul": lambda: "before\x00after",
    "surrogate": lambda: "before\ud800after",
    "nan": lambda: {"a": [1.0, float("nan")]},
    "infinity": lambda: float("-inf"),
    "10 MB": lambda: "x" * 10_000_000,
    "no JSON": lambda: object(),
    "huge number": lambda: HUGE,
    "deep": lambda: nested(2_000),
    "key": lambda: {"a\x00b": 1},
    "bytes": lambda: b"\xff\xfe",
    "plain": lambda: 1,
}


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@app.job(effect="pure")
def result(kind: str) -> Any:
    return VALUES[kind]()


@app.job(effect="pure")
async def result_on_loop(kind: str) -> Any:
    return VALUES[kind]()


@app.job(effect="pure", executor="process")
def result_of_process(kind: str) -> Any:
    return VALUES[kind]()


@app.job(effect="pure")
def kept(ctx: Context, kind: str) -> str:
    ctx.step("poison", VALUES[kind])
    return "kept"


@app.job(effect="pure")
async def saved(ctx: AsyncContext, kind: str) -> str:
    await ctx.save("poison", VALUES[kind]())
    return "saved"


@app.job(effect="pure")
def named(ctx: Context, kind: str) -> str:
    """Uses the poison as the name of a step."""
    name = {"nul": "a\x00b", "surrogate": "a\ud800b", "long": "".join(map(chr, range(300, 6000)))}
    ctx.step(name[kind], int)
    return "named"


class OddError(Exception):
    """Has a message that cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


@app.job(max_attempts=2, backoff=0, effect="pure")
def raises(kind: str) -> None:
    message = {"nul": "a\x00b", "surrogate": "a\udfffb", "3 MB": "y" * 3_000_000}
    if kind == "odd":
        raise OddError
    raise ValueError(message[kind])


@app.job(effect="pure")
def says(ctx: Context) -> str:
    """Logs, prints and shows what is odd."""
    print("print a\x00b\ud800c")
    sys.stdout.write("z" * 100_000 + "\n")
    logging.getLogger("somebody").warning("log a\x00b %s", "\udfff")
    ctx.progress(10, "progress a\x00b\ud800")
    return "said"


bytes_out = app.job(
    Command(["/bin/sh", "-c", "printf 'a\\377b\\n\\000c\\n'; printf 'd\\n' >&2"]),
    name="bytes_out",
    effect="pure",
)


@app.job(effect="pure")
def plain(ctx: Context, value: Any = None) -> Any:
    return value


@app.job(effect="pure")
def floods(ctx: Context, lines: int) -> None:
    for n in range(lines):
        print(n)
