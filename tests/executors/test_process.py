from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import koken.model.outcome as outcome
from koken.define.job import declare
from koken.errors import DeclarationError
from koken.executors import Command, Process, table
from koken.executors.base import (
    Absent,
    Answer,
    Broken,
    Parked,
    Raised,
    Returned,
    Stopped,
    Undoing,
)
from koken.executors.options import memory_of
from koken.executors.process import ProcessExecutor
from koken.model.states import State
from tests.executors.bodies import app
from tests.executors.hosts import FakeHost, assignment
from tests.executors.processes import living, running
from tests.executors.runs import child_run
from tests.support.moments import until

STUBBORN = 'trap "" TERM HUP; echo ready; (setsid sleep 4712 &); while :; do sleep 1; done'
PROGRAM = "tests.executors.bodies:app"


@pytest.fixture
async def executor() -> AsyncIterator[ProcessExecutor]:
    executor = ProcessExecutor(PROGRAM, grace=0.3)
    yield executor
    await executor.close()


async def carry_out(
    executor: ProcessExecutor,
    host: FakeHost,
    name: str,
    timeout: float | None = None,
    **args: Any,
) -> Answer:
    run = assignment(name, timeout=timeout, **args)
    return await executor.carry_out(app.registry.get(name), run, host)


def failure(answer: Answer) -> tuple[str, str]:
    """Type and message of a body's failure."""
    assert isinstance(answer, Raised)
    return answer.failure.type, answer.failure.message


async def test_a_result_is_json_text(executor: ProcessExecutor, host: FakeHost) -> None:
    assert await carry_out(executor, host, "add", a=40) == Returned("42")


async def test_an_async_def(executor: ProcessExecutor, host: FakeHost) -> None:
    assert await carry_out(executor, host, "add_async", a=40) == Returned("42")
    assert host.kept == {"saved:a": "40", "step:add": "42"}


async def test_what_is_said_reaches_the_log(executor: ProcessExecutor, host: FakeHost) -> None:
    assert await carry_out(executor, host, "speak") == Returned("null")

    assert sorted(host.lines) == [
        ("debug", "log", "to the context"),
        ("info", "stderr", "to stderr"),
        ("info", "stdout", "from a program"),
        ("info", "stdout", "past Python"),
        ("info", "stdout", "to stdout"),
        ("warning", "log", "to logging"),
    ]
    assert host.shown == [(50, "half")]


async def test_the_context_goes_through_the_line(executor: ProcessExecutor, host: FakeHost) -> None:
    host.kept = {"step:pid": "4711", "saved:cursor": "41", "saved:other": '"\\ud83d\\ude00"'}

    answer = await carry_out(executor, host, "keep")

    assert isinstance(answer, Returned)
    found = json.loads(answer.result)
    assert found["pid"] == 4711
    assert found["saved"] == {"cursor": 42, "other": "😀"}
    assert found["by"] == "anna"
    assert len(found["key"]) == 32


async def test_a_lost_lease_leaves_the_body(executor: ProcessExecutor, host: FakeHost) -> None:
    host.lost = True
    assert await carry_out(executor, host, "keep") == Stopped("lost")


@pytest.mark.parametrize("verb", ["checkpoints", "keep", "wait", "child", "open_children"])
@pytest.mark.parametrize("name", ["asks_all", "asks_all_async"])
async def test_a_database_that_is_away_is_not_the_bodys_error(
    executor: ProcessExecutor, host: FakeHost, verb: str, name: str
) -> None:
    host.children = {"any": child_run(7, State.READY)}
    host.away = verb
    answer = await carry_out(executor, host, name)
    assert isinstance(answer, Broken)
    assert answer.failure.type == "DatabaseUnreachable"
    assert host.texts() == []


async def test_a_host_that_fails_is_the_bodys_error(
    executor: ProcessExecutor, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keep(*_: Any, **__: Any) -> str:
        raise DeclarationError("not so")

    monkeypatch.setattr(host, "keep", keep)
    assert failure(await carry_out(executor, host, "keep")) == ("DeclarationError", "not so")


async def test_an_error(executor: ProcessExecutor, host: FakeHost) -> None:
    answer = await carry_out(executor, host, "fail")

    assert failure(answer) == ("OSError", "[Errno 28] No space left on device")
    assert isinstance(answer, Raised)
    assert answer.kinds[:2] == ("builtins.OSError", "builtins.Exception")
    assert answer.error is None
    assert answer.failure.traceback.startswith("Traceback (most recent call last):\n")
    assert "src/koken" not in answer.failure.traceback


async def test_an_outcome(executor: ProcessExecutor, host: FakeHost) -> None:
    answer = await carry_out(executor, host, "snooze")
    assert isinstance(answer, outcome.Snooze)
    assert (answer.after, answer.reason) == (900.0, "not there yet")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("segfault", "killed by SIGSEGV"),
        ("kill", "killed by SIGKILL (as the kernel does when memory runs out)"),
        ("exit", "exit status 3: last words"),
        ("term", "ended by SIGTERM, which was not the worker's"),
    ],
)
async def test_a_death_is_the_runs(
    executor: ProcessExecutor, host: FakeHost, how: str, message: str
) -> None:
    assert failure(await carry_out(executor, host, "die", how=how)) == ("ProcessDied", message)
    assert host.texts("stderr")[0] == "last words"
    assert await carry_out(executor, host, "add", a=1) == Returned("3")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nul", "the result holds a NUL character (U+0000), which PostgreSQL cannot store"),
        ("surrogate", "the result holds a lone surrogate, which is no character"),
        ("nan", "the result is nan, which JSON has no form for"),
        ("object", "the result cannot be stored as JSON: Unable to serialize unknown type: object"),
        ("large", "the result is 10,000,002 bytes as JSON; the limit is 4,194,304. "),
    ],
)
async def test_poison_results(
    executor: ProcessExecutor, host: FakeHost, kind: str, message: str
) -> None:
    found = failure(await carry_out(executor, host, "poison", kind=kind))
    assert found[0] == "Unstorable"
    assert found[1].replace("<class 'object'>", "object").startswith(message)


async def test_poison_errors(executor: ProcessExecutor, host: FakeHost) -> None:
    assert failure(await carry_out(executor, host, "poison_error", kind="str")) == (
        "Hostile",
        "<Hostile whose message cannot be shown>",
    )
    name, message = failure(await carry_out(executor, host, "poison_error", kind="text"))
    assert name == "ValueError"
    assert message.startswith("NUL \\x00, surrogate \\ud800, long xxx")
    assert message.endswith("x… (cut: 3,000,025 characters)")


async def test_a_body_that_spoils_the_line(executor: ProcessExecutor, host: FakeHost) -> None:
    found = failure(await carry_out(executor, host, "spoil_the_line"))
    assert found[0] == "ProcessDied"
    assert found[1].startswith("it spoilt the line to its worker: a message of 4,294,967,295 bytes")


@pytest.mark.parametrize("name", ["hang", "hang_async"])
@pytest.mark.parametrize("why", ["cancel", "shutdown", "lost"])
async def test_a_stop_lets_the_body_tidy_up(
    executor: ProcessExecutor, host: FakeHost, name: str, why: str
) -> None:
    run = assignment(name, ready="ready")
    going = asyncio.create_task(executor.carry_out(app.registry.get(name), run, host))
    await until(lambda: host.texts() == ["ready"])

    await executor.stop(run.run_id, why)

    assert await going == Stopped(why)
    assert host.texts() == ["ready", "tidied up"]


@pytest.mark.parametrize("name", ["hang", "hang_async"])
async def test_time_is_up(executor: ProcessExecutor, host: FakeHost, name: str) -> None:
    answer = await carry_out(executor, host, name, 0.2, ready="ready")
    assert answer == Stopped("timeout")


async def test_a_body_that_ignores_sigterm_is_killed(
    executor: ProcessExecutor, host: FakeHost
) -> None:
    answer = await carry_out(executor, host, "stubborn", 0.2)
    assert answer == Stopped("timeout", "it was killed, since it had not ended within 0.3 s")


async def test_a_swallowed_stop_is_raised_again(executor: ProcessExecutor, host: FakeHost) -> None:
    run = assignment("swallow")
    going = asyncio.create_task(executor.carry_out(app.registry.get("swallow"), run, host))
    await until(lambda: host.texts() == ["ready"])

    await executor.stop(run.run_id, "cancel")

    assert await going == Stopped("cancel", "it returned after that; the result was thrown away")
    assert host.texts() == ["ready", "CancelStop"]


async def test_grandchildren_are_ended(executor: ProcessExecutor, host: FakeHost) -> None:
    """bug-086, from a Python body."""
    answer = await carry_out(executor, host, "family", 0.3, seconds="4720")
    assert isinstance(answer, Stopped)
    assert sleepers("4720") == []


async def test_a_cancellation_from_outside_ends_it(
    executor: ProcessExecutor, host: FakeHost
) -> None:
    run = assignment("family", seconds="4721")
    going = asyncio.create_task(executor.carry_out(app.registry.get("family"), run, host))
    (pid,) = await until(host.texts)
    going.cancel()

    with pytest.raises(asyncio.CancelledError):
        await going
    await until(lambda: living([pid]) == [] and sleepers("4721") == [])


async def test_memory_is_limited(executor: ProcessExecutor, host: FakeHost) -> None:
    assert await carry_out(executor, host, "eat", megabytes=10) == Returned("10485760")
    found = failure(await carry_out(executor, host, "eat", megabytes=1000))
    assert found == ("MemoryError", "")


async def test_a_fork_has_one_thread(executor: ProcessExecutor, host: FakeHost) -> None:
    assert await carry_out(executor, host, "threads") == Returned('["MainThread"]')


async def test_a_closed_pipe_is_an_error(executor: ProcessExecutor, host: FakeHost) -> None:
    assert await carry_out(executor, host, "closed_pipe") == Returned('"an error"')


async def test_a_cold_process(executor: ProcessExecutor, host: FakeHost) -> None:
    assert isinstance(await carry_out(executor, host, "pids"), Returned)
    assert executor.warm.process is None


async def test_many_at_once(executor: ProcessExecutor, host: FakeHost) -> None:
    answers = await asyncio.gather(*(carry_out(executor, host, "add", a=n) for n in range(20)))
    assert answers == [Returned(str(n + 2)) for n in range(20)]


async def test_a_program_that_cannot_be_imported(host: FakeHost) -> None:
    executor = ProcessExecutor("no_such_program:app")
    answer = await carry_out(executor, host, "add", a=1)
    await executor.close()

    cause = "ModuleNotFoundError: No module named 'no_such_program'"
    assert failure(answer) == (
        "DeclarationError",
        f"the program 'no_such_program:app' cannot be imported: {cause}",
    )
    assert isinstance(answer, Raised)
    assert answer.failure.traceback.startswith("Traceback (most recent call last):\n")


async def test_a_program_that_cannot_be_imported_just_now(
    host: FakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unlucky.py").write_text("raise ConnectionRefusedError('nobody there')")
    monkeypatch.syspath_prepend(tmp_path)
    executor = ProcessExecutor("unlucky:app")
    answer = await carry_out(executor, host, "add", a=1)
    await executor.close()

    assert isinstance(answer, Broken)
    assert answer.failure.type == "NotStarted"
    assert "ConnectionRefusedError: nobody there" in answer.failure.message


async def test_a_stop_while_the_program_is_imported(
    executor: ProcessExecutor, host: FakeHost
) -> None:
    run = assignment("add", a=1)
    going = asyncio.create_task(executor.carry_out(app.registry.get("add"), run, host))
    await until(lambda: executor.under_way)
    await executor.stop(run.run_id, "cancel")

    assert await going == Stopped("cancel")
    assert await carry_out(executor, host, "add", a=1) == Returned("3")


async def test_a_job_that_the_program_does_not_have(
    executor: ProcessExecutor, host: FakeHost
) -> None:
    run = assignment("ad", a=1)
    assert await executor.carry_out(app.registry.get("add"), run, host) == Absent()


async def test_commands_are_carried_out_too(executor: ProcessExecutor, host: FakeHost) -> None:
    command = declare(Command("echo {word}"), {"name": "echo"})
    assert await executor.carry_out(command, assignment(word="hi"), host) == (
        Returned('{"exit_code":0}')
    )


@pytest.mark.parametrize(
    ("job", "args"),
    [
        ("family", '{"seconds": "4711"}'),
        ("stubborn", "{}"),
        (f"sh -c '{STUBBORN}'", "{}"),
    ],
)
async def test_nothing_outlives_a_killed_worker(job: str, args: str) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.executors.worker", job, args, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    assert await worker.stdout.readline()
    seconds = "4711" if job == "family" else "4712"
    await until(lambda: below(worker.pid) and (job == "stubborn" or sleepers(seconds)))
    children = below(worker.pid)

    os.kill(worker.pid, signal.SIGKILL)
    await worker.wait()

    await until(lambda: living(children) == [] and sleepers(seconds) == [])


@pytest.mark.parametrize(
    ("memory", "limit"), [("2G", 2 << 30), ("512 MiB", 512 << 20), ("1.5g", 3 << 29), (4096, 4096)]
)
def test_sizes(memory: str | int, limit: int) -> None:
    job = declare(Command("true"), {"name": "x", "executor": Process(memory=memory)})
    assert memory_of(job) == limit


@pytest.mark.parametrize("memory", ["", "lots", "-1G", 0, True, "0M"])
def test_no_sizes(memory: Any) -> None:
    with pytest.raises(DeclarationError, match="write it as '512M' or '2G'"):
        Process(memory=memory)


def below(pid: int) -> list[int]:
    """The processes that came of ``pid``, as far as their parents live."""
    parents = table.parents_of_all()
    found = {pid}
    while fresh := {child for child, parent in parents.items() if parent in found} - found:
        found |= fresh
    return sorted(found - {pid})


def sleepers(seconds: str) -> list[int]:
    """The processes that sleep that long."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and running(entry.name):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", seconds.encode()]:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("name", ["durable", "durable_async"])
async def test_a_body_that_waits(executor: ProcessExecutor, host: FakeHost, name: str) -> None:
    """Every verb of a durable body, over the line."""
    run = assignment(name, lease=2)

    async def enter(undo: str | None = None) -> Answer:
        return await executor.carry_out(app.registry.get(name), replace(run, undo=undo), host)

    assert await enter() == Parked("sleep", 3600.0, reason="waits for sleep 3600")
    host.clock = 3600.0
    assert await enter() == Parked("signal", None, "go", reason="waits for signal go")
    host.came = {"go": ["now"]}
    assert await enter() == Parked("question", None, "wait:4", reason="waits for question fine?")
    host.came = {"fine?": [True]}
    host.children["child:child"] = child_run(413, State.READY)
    assert await enter() == Parked("children", None, "413", 1, "waits for kid 413")
    host.children["child:child"] = child_run(413, State.SUCCEEDED, 3)
    assert await enter() == Returned('[2,"now",true,3,[2,3,4],[10,20],{"exit_code":0}]')
    assert "from a command" in host.texts("stdout")
    assert {(line.key, line.no, line.state) for line in host.ledger} >= {
        ("mapped", 2, "created"),
        ("mapped", 2, "done"),
        ("elsewhere", 1, "submitted"),
        ("elsewhere", 1, "done"),
    }
    assert host.unwind
    assert await enter("*") == Undoing(("first",))
    assert await enter("first") == Returned("null")
    assert "undone 2" in host.texts("stdout")
