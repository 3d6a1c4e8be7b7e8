"""``koken logs watch wait``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Koken, change, process, wait_for_line
from tests.support.moments import until_sync

LINE = (
    "insert into koken.log_line (run_id, lease, at, level, stream, text)"
    " values (1, %s, now(), %s, 'stdout', %s)"
)
END = "update koken.run set state = 'cancelled', finished_at = now()"


def test_logs(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "report")
    work()
    lines = [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in koken("logs", "report").lines]
    assert "ERROR ValueError: not yet" in lines
    told = [line for line in lines if not line.startswith("ERROR")]
    assert told == ["WARNING attempt 1", "— begun again —", "WARNING attempt 2"]
    assert koken("logs", "report", "--limit", "1").lines[0].endswith("WARNING attempt 2")
    assert koken("logs", "1", "-f").lines == koken("logs", "1").lines
    items = koken("logs", "1", "--json").json["items"]
    assert [each["text"] for each in items if each["level"] == "warning"] == [
        "attempt 1",
        "attempt 2",
    ]
    followed = [json.loads(line) for line in koken("logs", "1", "--follow", "--json").lines]
    assert followed == items


def test_a_run_that_was_left_to_wait_has_not_begun_again(koken: Koken, database_url: str) -> None:
    """A mark stands where an attempt was spent, not where a wait was over."""
    koken("run", "greet")
    for lease in (1, 2, 4):
        change(database_url, LINE, lease, "info", f"lease {lease}")
    change(
        database_url,
        "insert into koken.attempt (run_id, lease, attempt, ended_at, outcome)"
        " values (1, 3, 1, now(), 'retry')",
    )
    told = [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in koken("logs", "1").lines]
    assert told == ["lease 1", "lease 2", "— begun again —", "lease 4"]


def test_no_lines(koken: Koken) -> None:
    koken("run", "greet")
    said = koken("logs", "1")
    assert (said.code, said.out, said.err) == (0, "", "greet 1 has printed nothing\n")
    assert koken("logs", "nothing").code == 3


def test_followed_while_it_goes(koken: Koken, folder: Path, database_url: str) -> None:
    koken("run", "greet")
    change(database_url, LINE, 1, "info", "first")
    with process("logs", "1", "-f", folder=folder) as child:
        wait_for_line(child.stdout, "first")
        change(database_url, LINE, 1, "error", "second")
        assert wait_for_line(child.stdout, "second")[-1].endswith("ERROR second")
        change(database_url, END)
        assert child.wait(20) == 0


def test_watched(koken: Koken, folder: Path, database_url: str) -> None:
    koken("run", "greet")
    with process("watch", "greet", folder=folder) as child:
        assert wait_for_line(child.stdout, "greet 1  ○ ready")
        change(
            database_url,
            "update koken.run set state = 'running', progress = 71, progress_text = 'half',"
            " started_at = now(), attempt = 1",
        )
        line = wait_for_line(child.stdout, "71 %")[-1]
        assert line.endswith("attempt 1 of 1  ███████░░░ 71 %  half")
        change(database_url, END)
        assert wait_for_line(child.stdout, "cancelled") == ["greet 1  ⊘ cancelled"]
        assert child.wait(20) == 1


def test_watched_for_a_program(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "greet")
    work()
    said = koken("watch", "1", "--json")
    assert (said.code, said.json["state"]) == (0, "succeeded")
    assert koken("watch", "1").lines[0].startswith("greet 1  ✓ succeeded in ")


def test_waited_for(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "greet")
    koken("run", "broken")
    late = koken("wait", "1", "--timeout", "10ms")
    assert (late.code, late.err) == (1, "koken: run 1 has not ended within 0.01 s; it goes on\n")
    work()
    assert koken("wait", "1").code == 0
    failed = koken("wait", "broken")
    assert failed.code == 1
    assert failed.lines == [
        "broken 2  ✗ failed, attempt 1 of 1: OSError: no space left",
        "  its traceback: koken show 2",
    ]
    assert koken("wait", "1", "--json").json["result"] == "hello world"
    assert koken("wait", "nothing").code == 3
    assert koken("wait", "1", "--timeout", "x").code == 2


def test_a_reader_that_leaves(koken: Koken, folder: Path) -> None:
    koken("run", "greet")
    with process("jobs", folder=folder) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.wait(20) == 0
        assert child.stderr is not None
        assert child.stderr.read() == ""


def test_interrupted_while_it_waits(koken: Koken, folder: Path, database_url: str) -> None:
    koken("run", "greet")
    with process("watch", "1", folder=folder) as child:
        wait_for_line(child.stdout, "ready")
        child.send_signal(2)
        assert until_sync(child.poll) == 130
        assert child.stderr is not None
        assert child.stderr.read() == ""
