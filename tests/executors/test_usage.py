"""What the processes of a body took is told to the worker."""

from __future__ import annotations

import sys

from koken.define.job import declare
from koken.executors import Command
from koken.executors.base import Returned
from koken.executors.commandexecutor import CommandExecutor
from koken.executors.process import ProcessExecutor
from tests.executors.bodies import app
from tests.executors.hosts import FakeHost, assignment

MB = 1 << 20
SWELL = "block = bytearray(60 << 20); block[::4096] = b'x' * len(block[::4096])"


async def test_memory_at_its_worst_and_time_of_functions(host: FakeHost) -> None:
    executor = ProcessExecutor("tests.executors.bodies:app")
    try:
        for megabytes in (0, 60):
            run = assignment("swell", megabytes=megabytes)
            answer = await executor.carry_out(app.registry.get("swell"), run, host)
            assert answer == Returned(str(megabytes * MB))
    finally:
        await executor.close()
    (little, _), (much, seconds) = host.took
    assert 55 * MB < much - little < 90 * MB
    assert 0 < seconds < 60


async def test_memory_of_the_largest_process_of_a_command(host: FakeHost) -> None:
    executor = CommandExecutor()
    shell = f'{sys.executable} -c "{SWELL}"; true'
    job = declare(Command(shell, shell=True), {"name": "load"})
    try:
        answer = await executor.carry_out(job, assignment("load"), host)
    finally:
        await executor.close()
    assert answer == Returned('{"exit_code":0}')
    ((much, seconds),) = host.took
    assert 60 * MB < much < 120 * MB
    assert 0 < seconds < 60


async def test_nothing_of_a_command_that_was_not_started(host: FakeHost) -> None:
    executor = CommandExecutor()
    job = declare(Command("/nowhere/load"), {"name": "load"})
    try:
        await executor.carry_out(job, assignment("load"), host)
    finally:
        await executor.close()
    assert host.took == []
