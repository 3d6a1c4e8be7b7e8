from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import koken.model.outcome as outcome
from koken.define.job import Job, declare
from koken.errors import DeclarationError, InvalidArguments
from koken.executors import Command, Process
from koken.executors.base import Answer, Broken, Raised, Returned, Stopped
from koken.executors.commandexecutor import CommandExecutor
from tests.executors.hosts import FakeHost, assignment
from tests.executors.processes import living, running
from tests.support.moments import until

DONE = Returned('{"exit_code":0}')


@pytest.fixture
async def executor() -> AsyncIterator[CommandExecutor]:
    executor = CommandExecutor(grace=0.3)
    yield executor
    await executor.close()


def job(*words: Any, **options: Any) -> Job[..., Any]:
    return declare(Command(*words, **options), {"name": "load"})


def message(answer: Answer) -> str:
    """What the run says of an answer that is a failure of the command."""
    assert isinstance(answer, Raised)
    assert answer.failure.type == "CommandFailed"
    assert answer.kinds[0] == "koken.executors.exits.CommandFailed"
    return answer.failure.message


async def test_words_and_places(executor: CommandExecutor, host: FakeHost) -> None:
    words = "printf '%s|' {month} 'a {month}' --at={logical_time:%Y-%m} {workspace} "
    words += "'{{month}}' ${month}"
    run = assignment(month="2026 11; rm -rf $HOME")

    assert await executor.carry_out(job(words), run, host) == DONE

    assert host.texts() == [
        "2026 11; rm -rf $HOME|a 2026 11; rm -rf $HOME|--at=2026-11|acme|{month}|${month}|"
    ]


async def test_a_list_of_words(executor: CommandExecutor, host: FakeHost) -> None:
    words = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "", "a b", "{x}"]
    assert await executor.carry_out(job(words), assignment(x=""), host) == DONE
    assert host.texts() == ["['', 'a b', '']"]


async def test_a_shell_only_when_asked(executor: CommandExecutor, host: FakeHost) -> None:
    run = assignment(name="it's; echo no")
    text = "echo {name} | tr a-z A-Z; echo ${HOME:+set}"

    assert await executor.carry_out(job(text, shell=True), run, host) == DONE

    assert host.texts() == ["IT'S; ECHO NO", "set"]


async def test_the_environment_is_small(
    executor: CommandExecutor, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    for name in ("HOME", "LANG", "LC_TIME", "TZ", "USER"):
        monkeypatch.setenv(name, f"the {name}")
    for name in ("LOGNAME", "SHELL", "TMPDIR", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    command = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    run = assignment("load", month="11")

    await executor.carry_out(job(command, env={"MONTH": "{month}"}), run, host)

    found = json.loads(host.texts()[0])
    found.pop("LC_CTYPE", None)  # Python adds it when the locale is not there
    assert found == {
        "PATH": os.environ["PATH"],
        "HOME": "the HOME",
        "LANG": "the LANG",
        "LC_TIME": "the LC_TIME",
        "TZ": "the TZ",
        "USER": "the USER",
        "KOKEN_ATTEMPT": "1",
        "KOKEN_JOB": "load",
        "KOKEN_LOGICAL_TIME": "2026-11-30T19:00:00+00:00",
        "KOKEN_RUN_ID": str(run.run_id),
        "KOKEN_WORKSPACE": "acme",
        "MONTH": "11",
    }


async def test_the_command_inherits_nothing_else(
    executor: CommandExecutor, host: FakeHost, tmp_path: Path
) -> None:
    script = "grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd; pwd; wc -c"

    await executor.carry_out(job(["sh", "-c", script], cwd=tmp_path), assignment(), host)

    blocked, ignored, *others = host.texts("stdout")
    assert blocked == "SigBlk:\t0000000000000000"
    assert int(ignored.split()[1], 16) & 0x7FFFFFFF == 0  # the C library has 32 and 33 for itself
    assert others == [
        *("0", "1", "2", "3"),  # 3 is the folder that is being listed
        str(tmp_path),
        "0",
    ]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 1", "exit status 1"),
        ("echo one >&2; echo ' two ' >&2; echo >&2; exit 3", "exit status 3: two"),
        ("exit 126", "exit status 126 (found, but it could not be executed)"),
        ("exit 127", "exit status 127 (program not found)"),
        ("exit 128", "exit status 128"),
        ("exit 137", "exit status 137 (128 + 9: SIGKILL)"),
        ("exit 255", "exit status 255"),
        ("kill -KILL $$", "killed by SIGKILL (as the kernel does when memory runs out)"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("kill -40 $$", "killed by signal 40"),
    ],
)
async def test_ends(executor: CommandExecutor, host: FakeHost, script: str, expected: str) -> None:
    """bug-119."""
    answer = await executor.carry_out(job(["sh", "-c", script]), assignment(), host)
    assert message(answer) == expected


async def test_codes(executor: CommandExecutor, host: FakeHost) -> None:
    codes = {"ok_codes": (0, 4), "skip_codes": (75,)}

    async def ended(code: int) -> Answer:
        command = job(f"sh -c 'echo why >&2; exit {code}'", **codes)
        return await executor.carry_out(command, assignment(), host)

    assert await ended(4) == Returned('{"exit_code":4}')
    skip = await ended(75)
    assert isinstance(skip, outcome.Skip)
    assert skip.reason == "exit status 75: why"
    failure = await ended(5)
    assert isinstance(failure, Raised)
    assert getattr(failure.error, "exit_code", None) == 5


async def test_programs_that_cannot_be_started(
    executor: CommandExecutor, host: FakeHost, tmp_path: Path
) -> None:
    closed, nonsense, orphan = (tmp_path / name for name in ("closed", "nonsense", "orphan"))
    closed.write_text("#!/bin/sh\n")
    nonsense.write_text("no program\n")
    orphan.write_text("#!/no/interpreter\n")
    for path in (nonsense, orphan):
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    async def failure(words: str, **options: Any) -> str:
        return message(await executor.carry_out(job(words, **options), assignment(), host))

    assert await failure("no-such-program -x") == "there is no program 'no-such-program' on PATH"
    assert await failure("./missing", cwd=tmp_path) == "there is no program './missing'"
    assert await failure("./closed", cwd=tmp_path) == "'./closed' has no permission to be executed"
    assert await failure(str(tmp_path)) == f"{str(tmp_path)!r} is a folder"
    assert await failure("./orphan", cwd=tmp_path) == (
        "'./orphan' names an interpreter in its first line that is not there"
    )
    assert await failure("./nonsense", cwd=tmp_path) == (
        "'./nonsense' is no program: a script begins with #! and its interpreter"
    )
    assert await failure("true", cwd=tmp_path / "gone") == (
        f"the folder {str(tmp_path / 'gone')!r} to run in is not there"
    )
    assert host.lines == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a\x00b", "'{x}' was filled with a NUL character, which no argument can hold"),
        ("\ud800", "'{x}' was filled with a lone surrogate, which is no character"),
        ("x" * 200_000, "the arguments of 'echo' are longer than the system takes"),
    ],
)
async def test_poison_arguments(
    executor: CommandExecutor, host: FakeHost, value: str, reason: str
) -> None:
    answer = await executor.carry_out(job("echo {x}"), assignment(x=value), host)
    assert message(answer) == reason


async def test_one_bad_byte(executor: CommandExecutor, host: FakeHost) -> None:
    """bug-121"""
    script = r"printf 'a\377b\n'; printf 'a\0b\n'; printf 'caf\303'; printf '\251 \342\202'"

    assert await executor.carry_out(job(["sh", "-c", script]), assignment(), host) == DONE

    assert host.texts() == ["a\\xffb", "a\\x00b", "café \\xe2\\x82"]


async def test_output_comes_as_it_is_made(
    executor: CommandExecutor, host: FakeHost, tmp_path: Path
) -> None:
    (tmp_path / "go").parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "go")
    command = job(["sh", "-c", "echo one; cat go; echo two >&2"], cwd=tmp_path)

    going = asyncio.create_task(executor.carry_out(command, assignment(), host))
    await until(lambda: host.texts() == ["one"])
    (tmp_path / "go").write_text("")

    assert await going == DONE
    assert host.lines == [("info", "stdout", "one"), ("info", "stderr", "two")]


async def test_200_megabytes_without_a_newline(executor: CommandExecutor, host: FakeHost) -> None:
    """bug-123"""
    before = resident()

    command = job(["sh", "-c", "head -c 200000000 /dev/zero | tr '\\0' x"])
    assert await executor.carry_out(command, assignment(), host) == DONE

    assert resident() - before < 100_000_000
    assert [len(text) for text in host.texts("stdout")] == [8_000] * 2_500
    assert host.texts("log") == [
        "the log is cut here, after 2,500 lines and 20,000,000 characters of this attempt",
        "180,000,000 characters of the log were not kept",
    ]


async def test_a_million_lines(executor: CommandExecutor, host: FakeHost) -> None:
    command = job(["sh", "-c", "yes | head -n 1000000"])
    assert await executor.carry_out(command, assignment(), host) == DONE
    assert host.texts("stdout") == ["y"] * 100_000
    assert host.texts("log")[0] == (
        "the log is cut here, after 100,000 lines and 100,000 characters of this attempt"
    )


async def test_a_progress_bar(executor: CommandExecutor, host: FakeHost) -> None:
    script = r"for i in 1 2 3; do printf '\r%s0%%' $i >&2; done; echo >&2; exit 1"
    answer = await executor.carry_out(job(["sh", "-c", script]), assignment(), host)
    assert host.texts() == ["30%"]
    assert message(answer) == "exit status 1: 30%"


@pytest.mark.parametrize("why", ["cancel", "shutdown", "lost"])
async def test_a_stop_sends_sigterm(executor: CommandExecutor, host: FakeHost, why: str) -> None:
    run = assignment()
    script = "trap 'echo tidied up; exit 3' TERM; echo ready; while :; do :; done"

    going = asyncio.create_task(executor.carry_out(job(["sh", "-c", script]), run, host))
    await until(lambda: host.texts() == ["ready"])
    await executor.stop(run.run_id, why)
    await executor.stop(run.run_id, "the second reason does not count")

    assert await going == Stopped(why, "it ended with CommandFailed: exit status 3")
    assert host.texts() == ["ready", "tidied up"]


async def test_time_is_up(executor: CommandExecutor, host: FakeHost) -> None:
    script = "trap '' TERM HUP; while :; do :; done"
    answer = await executor.carry_out(job(["sh", "-c", script]), assignment(timeout=0.05), host)
    assert answer == Stopped("timeout", "it was killed, since it had not ended within 0.3 s")


FAMILY = """
import os, signal, subprocess, sys, time
def stay(*ignored):
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    while True:
        time.sleep(60)
if os.fork() == 0:
    if os.fork() == 0:
        stay(signal.SIGHUP)
    stay(signal.SIGHUP, signal.SIGTERM)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stay(signal.SIGTERM)
        os._exit(0)
    os._exit(0)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    signal.raise_signal(signal.SIGSTOP)
stay()
"""


async def family(executor: CommandExecutor, host: FakeHost) -> tuple[asyncio.Task[Answer], int]:
    """A command with five processes of every kind, under way."""
    run = assignment()
    words = ["sh", "-c", f"{sys.executable} -c '{FAMILY}'; true"]
    going = asyncio.create_task(executor.carry_out(job(words), run, host))
    await until(lambda: len(host.texts()) == 5 and all(map(running, host.texts()[:3])))
    return going, run.run_id


async def test_a_stop_reaches_the_whole_family(executor: CommandExecutor, host: FakeHost) -> None:
    """bug-086"""
    going, run_id = await family(executor, host)

    await executor.stop(run_id, "cancel")

    assert isinstance(await going, Stopped)
    assert living(host.texts("stdout")) == []


async def test_what_is_left_behind_is_ended_and_named(
    executor: CommandExecutor, host: FakeHost
) -> None:
    script = "setsid sleep 4712 & exec 3>&1; echo $!; while ! pgrep -f 'sleep 4712' >&2; do :; done"
    started = time.monotonic()

    assert await executor.carry_out(job(["sh", "-c", script]), assignment(), host) == DONE

    assert time.monotonic() - started < 10
    (pid,) = host.texts("stdout")
    assert living([pid]) == []
    assert host.lines[-1] == ("warning", "log", f"left behind, and ended: {pid} (sleep)")


async def test_a_cancellation_from_outside_ends_all(
    executor: CommandExecutor, host: FakeHost
) -> None:
    going, _ = await family(executor, host)

    going.cancel()

    with pytest.raises(asyncio.CancelledError):
        await going
    await until(lambda: living(host.texts("stdout")) == [])


async def test_when_the_keeper_dies_the_command_does_too(
    executor: CommandExecutor, host: FakeHost
) -> None:
    words = ["sh", "-c", "echo $PPID; echo $$; exec sleep 4713"]
    going = asyncio.create_task(executor.carry_out(job(words), assignment(), host))
    await until(lambda: len(host.texts()) == 2)
    keeper, pid = host.texts()

    os.kill(int(keeper), signal.SIGKILL)

    answer = await going
    assert isinstance(answer, Broken)
    assert answer.failure.type == "KeeperDied"
    await until(lambda: living([pid]) == [])


async def test_the_process_that_forks_is_replaced(
    executor: CommandExecutor, host: FakeHost
) -> None:
    await executor.carry_out(job("true"), assignment(), host)
    assert executor.forker.process is not None
    executor.forker.process.kill()
    executor.forker.process.wait()

    assert await executor.carry_out(job("true"), assignment(), host) == DONE


async def test_a_keeper_that_cannot_be_started(executor: CommandExecutor, host: FakeHost) -> None:
    executor.forker.words = ["/no/python"]
    answer = await executor.carry_out(job("true"), assignment(), host)
    assert isinstance(answer, Broken)
    assert answer.failure.type == "NotStarted"


async def test_memory_is_limited(executor: CommandExecutor, host: FakeHost) -> None:
    words = [sys.executable, "-c", "bytearray(1 << 30)"]
    limited = declare(Command(words), {"name": "eat", "executor": Process(memory="300M")})
    assert message(await executor.carry_out(limited, assignment(), host)) == (
        "exit status 1: MemoryError"
    )


async def test_many_at_once(executor: CommandExecutor, host: FakeHost) -> None:
    answers = await asyncio.gather(
        *(executor.carry_out(job("echo {n}"), assignment(n=str(n)), host) for n in range(40))
    )
    assert answers == [DONE] * 40
    assert sorted(map(int, host.texts())) == list(range(40))


@pytest.mark.parametrize("words", ["", "  ", "echo 'a", [], [""], 7, ["a", 1]])
def test_no_command(words: Any) -> None:
    with pytest.raises(DeclarationError, match="command"):
        Command(words)


def test_a_list_is_not_for_a_shell() -> None:
    with pytest.raises(DeclarationError, match="with shell=True a command is one text"):
        Command(["echo", "a"], shell=True)


def test_arguments_are_declared_by_places() -> None:
    load = job("./load {month} {region}", env={"TARGET": "{target}"})

    assert load.body.argument_names == ("month", "region", "target")
    assert load.body.bind(("2026-11",), {"region": "eu", "target": "t"}) == {
        "month": "2026-11",
        "region": "eu",
        "target": "t",
    }
    with pytest.raises(InvalidArguments, match="load"):
        load.body.bind((), {"month": "2026-11"})
    assert load.spec.executor == "process"
    assert repr(load.body) == "Command('./load {month} {region}')"
    with pytest.raises(DeclarationError, match="executor 'thread' does not carry out commands"):
        declare(Command("true"), {"name": "x", "executor": "thread"})


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
