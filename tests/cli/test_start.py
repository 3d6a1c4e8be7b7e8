"""``koken run``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from tests.cli.conftest import Koken, change

AT = "2100-01-01T00:00:00+01:00"


def test_started(koken: Koken) -> None:
    said = koken("run", "greet", "name=bob")
    assert said.lines == ["greet 1  ○ ready. Follow it: koken watch 1"]
    run = koken("show", "1", "--json").json
    assert (run["args"], run["trigger"]["kind"], run["trigger"]["by"]) == (
        {"name": "bob"},
        "user",
        "anna",
    )


def test_options(koken: Koken) -> None:
    words = ("--priority", "5", "--key", "k", "--queue", "mine", "--at", AT)
    run = koken("run", "greet", *words, "--json").json
    assert (run["priority"], run["queue"], run["idempotency_key"]) == (5, "mine", "k")
    assert run["state"] == "waiting"
    assert run["wait"]["cause"] == "delay"
    assert datetime.fromisoformat(run["wait"]["until"]) == datetime.fromisoformat(AT)
    again = koken("run", "greet", *words, "--json").json
    assert again["id"] == run["id"]
    refused = koken("run", "greet", "name=x", *words)
    assert refused.code == 4
    assert (
        refused.err == "koken: idempotency key k belongs to run 1, whose arguments differ in name\n"
    )


def test_delay(koken: Koken) -> None:
    said = koken("run", "greet", "--delay", "2h")
    assert said.lines == ["greet 1  ◔ waiting, due in 2 h. Follow it: koken watch 1"]


def test_arguments_as_json_keep_their_types(koken: Koken) -> None:
    run = koken("run", "greet", "--args", '{"name": "5"}', "--json").json
    assert run["args"] == {"name": "5"}
    assert koken("run", "slow", "seconds=5", "--json").json["args"] == {"seconds": 5.0}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["gret"], 3, "there is no job 'gret'. Did you mean greet?"),
        (["greet", "nam=x"], 2, ("greet(nam): is not an argument. Did you mean name? "
         "Nothing was started.")),
        (["slow", "seconds=many"], 2, ("slow(seconds): 'many' is not a number. "
         "Nothing was started.")),
        (["greet", "bob"], 2, "'bob' is no argument; write it as name=value"),
        (["greet", "name=a", "name=b"], 2, "argument 'name' is given twice"),
        (["greet", "name=a", "--args", "{}"], 2,
         "give arguments as name=value or by --args, not both"),
        (["greet", "--args", "[1]"], 2,
         '--args is no JSON object; write it as {"day": "2026-11-30"}'),
        (["greet", "--delay", "soon"], 2, ("greet.using(delay): delay is 'soon'; "
         "write it as '90s', '5m', '12h' or '1d 6h'.")),
        (["greet", "--at", "noon"], 2, "--at is 'noon'; write it as 2026-03-08T00:00:00-05:00"),
    ],
)  # fmt: skip
def test_refusals(koken: Koken, words: list[str], code: int, message: str) -> None:
    said = koken("run", *words)
    assert (said.code, said.out, said.err) == (code, "", f"koken: {message}\n")


def test_skipped_and_refused_by_overlap(koken: Koken) -> None:
    koken("run", "greet", "--overlap", "refuse")
    skipped = koken("run", "greet", "--overlap", "skip_if_running")
    assert skipped.code == 0
    assert skipped.lines[0].endswith("– skipped: run 1 is waiting to start (skip_if_running)")
    waited = koken("run", "greet", "--overlap", "skip_if_running", "--wait")
    assert waited.code == 1
    assert koken("run", "greet", "--overlap", "refuse").code == 4


def test_without_an_app(
    koken: Koken, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    koken("run", "greet")
    work()
    monkeypatch.delenv("KOKEN_APP")
    assert koken("run", "greet", "name=5", "--json").json["args"] == {"name": 5}
    assert koken("run", "nothing").code == 3
    missing = koken("run", "greet", "nam=x")
    assert missing.code == 2
    assert missing.err.count("\n") == 1


def test_waited_for_in_vain(koken: Koken) -> None:
    late = koken("run", "greet", "--wait", "--timeout", "10ms")
    assert (late.code, late.err) == (1, "koken: run 1 has not ended within 0.01 s; it goes on\n")
    assert koken("run", "greet", "--timeout", "10ms").code == 2


def test_a_pause_before_a_retry_is_no_work(koken: Koken, database_url: str) -> None:
    koken("run", "greet", "--key", "k")
    change(database_url, "update koken.run set state = 'running', started_at = now()")
    change(
        database_url,
        "update koken.run set state = 'succeeded', started_at = now() - interval '1 h',"
        " claimed_at = now() - interval '2 s', finished_at = now()",
    )
    assert koken("wait", "1").lines == ["greet 1  ✓ succeeded in 2.0 s"]


def test_waited_for(koken: Koken, database_url: str) -> None:
    koken("run", "greet", "--key", "k")
    change(
        database_url,
        "update koken.run set state = 'running', started_at = now()",
    )
    change(
        database_url,
        "update koken.run set state = 'succeeded', finished_at = started_at, result = '[1, \"a\"]'",
    )
    said = koken("run", "greet", "--key", "k", "--wait")
    assert (said.code, said.lines) == (0, ['greet 1  ✓ succeeded in 0 ms → [1,"a"]'])


@pytest.mark.parametrize(
    "words",
    [
        ("--key", ""),
        ("--priority", "99999999999"),
        ("--at", "9999-12-31T23:59:59-12:00"),
        ("--delay", "1e300"),
        ("--delay", "9999999999d"),
        ("--args", '{"name": "\\ud800"}'),
        ("--args", '{"name": "\\u0000"}'),
    ],
)
def test_values_that_cannot_be(koken: Koken, words: tuple[str, str]) -> None:
    """Refused before anything is started, as input."""
    said = koken("run", "greet", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert koken("runs").out == "No runs yet. `koken run JOB` starts one.\n"
