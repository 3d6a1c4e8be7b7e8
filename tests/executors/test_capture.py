from __future__ import annotations

import asyncio
import io
import logging
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from koken.executors import capture
from koken.executors.capture import RunLog, speaking
from tests.executors.hosts import FakeHost, captured


@pytest.fixture
def log(host: FakeHost) -> RunLog:
    return RunLog(host)


async def test_lines_are_joined(log: RunLog, host: FakeHost) -> None:
    for piece in ("one", " and", " more\ntwo\nthr", "ee"):
        log.write("stdout", piece)
    log.write("stderr", "four\n")
    assert host.texts() == ["one and more", "two", "four"]
    log.close()

    assert host.lines == [
        ("info", "stdout", "one and more"),
        ("info", "stdout", "two"),
        ("info", "stderr", "four"),
        ("info", "stdout", "three"),
    ]


async def test_an_empty_line_is_a_line(log: RunLog, host: FakeHost) -> None:
    log.write("stdout", "a\n\nb\r\n")
    log.close()
    assert host.texts() == ["a", "", "b"]


async def test_a_progress_bar_becomes_its_last_state(log: RunLog, host: FakeHost) -> None:
    for percent in range(101):
        log.write("stderr", f"\r{percent}%")
        assert len(log.partial["stderr"]) <= 4  # type: ignore[index]
    log.write("stderr", "\ndone\n")
    for percent in range(101):
        log.write("stdout", f"{percent}%\r")
    log.close()

    assert host.texts() == ["100%", "done", "100%"]


async def test_an_hour_of_a_progress_bar(log: RunLog, host: FakeHost) -> None:
    for tick in range(36_000):
        log.write("stderr", f"\r{tick // 360}% {'#' * 60}")
    log.close()
    assert host.texts() == [f"99% {'#' * 60}"]


async def test_odd_characters_are_shown(log: RunLog, host: FakeHost) -> None:
    log.write("stdout", "a\x00b\ud800c\n")
    log.put("info", "log", "d\x00e")
    assert host.texts() == ["a\\x00b\\ud800c", "d\\x00e"]


async def test_long_lines_go_on_in_the_next(log: RunLog, host: FakeHost) -> None:
    log.write("stdout", "a" * 8_000 + "b" * 8_000 + "c" * 10)
    assert [len(text) for text in host.texts()] == [8_000, 8_000]
    log.write("stdout", "d\n")
    assert host.texts()[2] == "c" * 10 + "d"


async def test_200_megabytes_without_a_newline(log: RunLog, host: FakeHost) -> None:
    piece = "x" * 65_536
    tracemalloc.start()
    for _ in range(3_200):
        log.write("stdout", piece)
    log.close()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 60_000_000
    assert [len(text) for text in host.texts("stdout")] == [8_000] * 2_500
    assert (
        host.texts("log")
        == [
            "the log is cut here, after 2,500 lines and 20,000,000 characters of this attempt",
            "189,7x",
        ]
        or len(host.texts("log")) == 2
    )


async def test_200_megabytes_at_once(log: RunLog, host: FakeHost) -> None:
    log.write("stdout", "x" * 200_000_000)
    log.close()
    assert len(host.texts("stdout")) == 2_500
    assert host.texts("log") == [
        "the log is cut here, after 2,500 lines and 20,000,000 characters of this attempt",
        "180,000,000 characters of the log were not kept",
    ]


async def test_a_million_lines(log: RunLog, host: FakeHost) -> None:
    started = time.perf_counter()
    for number in range(1_000_000):
        log.write("stdout", f"{number}\n")
    log.close()

    assert time.perf_counter() - started < 20
    assert len(host.lines) == 100_002
    assert host.texts("stdout")[-1] == "99999"
    assert host.texts("log") == [
        "the log is cut here, after 100,000 lines and 488,890 characters of this attempt",
        "6,299,999 characters of the log were not kept",
    ]


async def test_nothing_is_kept_after_the_end(log: RunLog, host: FakeHost) -> None:
    log.close()
    log.write("stdout", "late\n")
    log.put("info", "log", "late")
    assert host.lines == []


def speak(host: FakeHost, body: Callable[[], None]) -> None:
    """Carry out ``body`` as if it were a run's."""
    log = RunLog(host)
    token = speaking.set(log)
    try:
        body()
    finally:
        speaking.reset(token)
        log.close()


async def test_print_and_logging(host: FakeHost) -> None:
    def body() -> None:
        print("to", "stdout")
        print("to stderr", file=sys.stderr)
        sys.stdout.writelines(["a\n", "b\n"])
        sys.stdout.buffer.write(b"a\xffb\n")
        logging.getLogger("app.module").warning("lost %d rows", 7)
        logging.getLogger("koken.job.nightly").debug("quiet")
        try:
            raise OSError("reset")
        except OSError:
            logging.exception("failed")

    with captured():
        speak(host, body)

    assert host.lines[:7] == [
        ("info", "stdout", "to stdout"),
        ("info", "stderr", "to stderr"),
        ("info", "stdout", "a"),
        ("info", "stdout", "b"),
        ("info", "stdout", "a\\xffb"),
        ("warning", "log", "lost 7 rows"),
        ("debug", "log", "quiet"),
    ]
    assert host.lines[7] == ("error", "log", "failed")
    assert host.lines[-1] == ("error", "log", "OSError: reset")


async def test_outside_of_bodies_all_passes(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    capture.install()
    capture.install()
    try:
        print("plain")
        print("error", file=sys.stderr)
        logging.getLogger("app").warning("heard by the last resort")
        logging.getLogger("app").info("not heard, as ever")
        speak(host, lambda: print("inside"))
        speak(host, lambda: logging.getLogger("koken.runtime").warning("the worker's own"))
    finally:
        capture.uninstall()

    assert (sys.stdout, sys.stderr) == (out, err)
    assert out.getvalue() == "plain\n"
    assert err.getvalue() == "error\nheard by the last resort\nthe worker's own\n"
    assert host.texts() == ["inside"]


async def test_threads_and_tasks_do_not_mix() -> None:
    hosts = [FakeHost() for _ in range(40)]
    meeting = threading.Barrier(20)

    def in_thread(number: int) -> None:
        meeting.wait(10)
        for line in range(50):
            print(number, end=" ")
            print(line)

    async def in_task(number: int) -> None:
        for line in range(50):
            print(number, end=" ")
            await asyncio.sleep(0)
            print(line)

    async def carry(number: int, host: FakeHost) -> None:
        log = RunLog(host)
        speaking.set(log)
        if number < 20:
            await asyncio.to_thread(in_thread, number)
        else:
            await in_task(number)
        log.close()

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(20))
    with captured():
        await asyncio.gather(*(carry(number, host) for number, host in enumerate(hosts)))

    for number, host in enumerate(hosts):
        assert host.texts() == [f"{number} {line}" for line in range(50)]


async def test_a_silent_body_costs_next_to_nothing(host: FakeHost) -> None:
    def best_of_three() -> float:
        started = time.perf_counter()
        for _ in range(10_000):
            log = RunLog(host)
            token = speaking.set(log)
            speaking.reset(token)
            log.close()
        return (time.perf_counter() - started) / 10_000

    assert min(best_of_three() for _ in range(3)) < 10e-6
