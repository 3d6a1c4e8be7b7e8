"""A program whose jobs are carried out in processes."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import koken.model.outcome as outcome
from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.job import declare
from koken.define.operation import Operation
from koken.define.registry import Registry
from koken.executors import Command, Process

app = SimpleNamespace(registry=Registry(), modules=())


def job(**options: Any) -> Any:
    def add(fn: Any) -> Any:
        found = declare(fn, {"executor": "process"} | options)
        app.registry.add(found)
        return found

    return add


@job()
def swell(megabytes: int) -> int:
    """Takes memory, and writes to all of it."""
    block = bytearray(megabytes << 20)
    block[::4096] = b"x" * len(block[::4096])
    return len(block)


@job()
def add(a: int, b: int = 2) -> int:
    return a + b


@job()
async def add_async(ctx: AsyncContext, a: int) -> int:
    await ctx.save("a", a)
    return await ctx.step("add", lambda: a + 2)


@job()
def speak(ctx: Context) -> None:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    logging.getLogger("app").warning("to logging")
    ctx.log.debug("to the context")
    os.write(1, b"past Python\n")
    subprocess.run(["sh", "-c", "echo from a program"], check=True)
    ctx.progress(50, "half")


@job()
def keep(ctx: Context) -> dict[str, Any]:
    first = ctx.step("pid", os.getpid)
    ctx.save("cursor", 42)
    return {"pid": first, "saved": dict(ctx.saved), "key": ctx.key(7), "by": ctx.trigger.by}


@job()
def fail() -> None:
    raise OSError(28, "No space left on device")


@job()
def snooze() -> None:
    raise outcome.Snooze("15m", "not there yet")


@job()
def die(how: str) -> None:
    print("last words", file=sys.stderr, flush=True)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "exit":
        os._exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "term":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)


@job()
def poison(kind: str) -> Any:
    return {
        "nul": "a\x00b",
        "surrogate": "\ud800",
        "nan": float("nan"),
        "object": object(),
        "large": "x" * 10_000_000,
    }[kind]


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message for you")

    def __reduce__(self) -> Any:
        return os.abort, ()


@job()
def poison_error(kind: str) -> None:
    if kind == "str":
        raise Hostile
    raise ValueError("NUL \x00, surrogate \ud800, long " + "x" * 3_000_000)


@job()
def spoil_the_line() -> None:
    for descriptor in range(3, 20):
        with suppress(OSError):
            os.write(descriptor, b"\xff" * 100)


@job()
def hang(ctx: Context, ready: str) -> None:
    try:
        ctx.log.info(ready)
        while True:
            time.sleep(60)
    finally:
        print("tidied up")


@job()
async def hang_async(ctx: AsyncContext, ready: str) -> None:
    try:
        ctx.log.info(ready)
        await asyncio.Event().wait()
    finally:
        print("tidied up")


@job()
def stubborn(ctx: Context) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctx.log.info("ready")
    while True:
        time.sleep(60)


@job()
def swallow(ctx: Context) -> str:
    with suppress(BaseException):
        ctx.log.info("ready")
        time.sleep(60)
    try:
        ctx.step("go on", list)
    except BaseException as error:
        ctx.log.info(type(error).__name__)
    return "done"


@job()
def family(ctx: Context, seconds: str) -> None:
    """Leaves grandchildren of every kind."""
    program = f"trap '' TERM HUP; sleep {seconds} & wait"
    subprocess.Popen(["setsid", "sh", "-c", program])
    subprocess.Popen(["sh", "-c", f'(setsid sh -c "{program}" &)'])
    ctx.log.info(str(os.getpid()))
    time.sleep(60)


@job(executor=Process(memory="400M"))
def eat(megabytes: int) -> int:
    return len(bytearray(megabytes << 20))


@job()
def closed_pipe() -> str:
    inlet, outlet = os.pipe()
    os.close(inlet)
    try:
        os.write(outlet, b"nobody reads")
    except BrokenPipeError:
        return "an error"
    return "no error"


@job()
def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


@job(executor=Process(warm=False))
def pids() -> list[int]:
    return [os.getpid(), os.getppid()]


class Elsewhere(Operation[int, str, int]):
    every = "1m"

    def submit(self, item: int, key: str) -> str:
        return f"h{item}"

    async def poll(self, item: int, handle: str) -> int | outcome.Snooze:
        return item * 10


def plus_one(number: int) -> int:
    return number + 1


def undo(number: int) -> None:
    print(f"undone {number}")


@job()
def durable(ctx: Context) -> list[Any]:
    first = ctx.using(compensate=undo).step("first", plus_one, 1)
    ctx.sleep("1h")
    word = ctx.wait_signal("go", str)
    asked = ctx.ask("fine?", bool, to="anna")
    child = ctx.step("child", app.registry.get("add"), a=1)
    mapped = ctx.map("mapped", plus_one, [1, 2, 3])
    elsewhere = ctx.map("elsewhere", Elsewhere(), [1, 2])
    command = ctx.step("command", Command(["echo", "from a command"]))
    return [first, word, asked, child, mapped, elsewhere, command]


@job()
async def durable_async(ctx: AsyncContext) -> list[Any]:
    first = await ctx.using(compensate=undo).step("first", plus_one, 1)
    await ctx.sleep("1h")
    word = await ctx.wait_signal("go", str)
    asked = await ctx.ask("fine?", bool, to="anna")
    child = await ctx.step("child", app.registry.get("add"), a=1)
    mapped = await ctx.map("mapped", plus_one, [1, 2, 3])
    elsewhere = await ctx.map("elsewhere", Elsewhere(), [1, 2])
    command = await ctx.step("command", Command(["echo", "from a command"]))
    return [first, word, asked, child, mapped, elsewhere, command]


@job()
def asks_all(ctx: Context) -> None:
    try:
        ctx.step("first", plus_one, 1)
        with suppress(TimeoutError):
            ctx.wait_signal("go", timeout=0)
        ctx.map("kids", app.registry.get("add"), [1, 2])
    except Exception as error:
        print(f"went on after {error!r}")


@job()
async def asks_all_async(ctx: AsyncContext) -> None:
    try:
        await ctx.step("first", plus_one, 1)
        with suppress(TimeoutError):
            await ctx.wait_signal("go", timeout=0)
        await ctx.map("kids", app.registry.get("add"), [1, 2])
    except Exception as error:
        print(f"went on after {error!r}")
