from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

import koken.model.outcome as outcome
from koken.executors import wire
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
from koken.model.durable import Child, Entry, Kept, Met, Past, Waiting, Wanted
from koken.model.job import StartOptions
from koken.model.policy import Overlap
from koken.model.runparts import Failure, Trigger, TriggerKind
from koken.model.states import State
from tests.executors.hosts import assignment
from tests.executors.runs import child_run


def test_an_assignment_comes_back() -> None:
    due = datetime(2026, 11, 30, 20, tzinfo=UTC)
    trigger = Trigger(kind=TriggerKind.SCHEDULE, by="", schedule="0 20 * * *", due_at=due)
    facts = replace(
        assignment("nightly", undo="m[2]", a=[1, {"b": "ä"}]),
        trigger=trigger,
        subject="x:1",
        step="table",
        schema="other",
    )

    sent = wire.unpack(wire.pack(wire.plain_assignment(facts))[wire.HEAD.size :])

    assert wire.assignment_from(sent) == facts


@pytest.mark.parametrize(
    "answer",
    [
        Returned('{"a":"\\"ä😀"}'),
        Raised(Failure(type="OSError", message="reset", traceback="…"), ("builtins.OSError",)),
        Stopped("cancel", "it took its time"),
        Broken(Failure(type="NotStarted", message="no memory")),
        Absent(),
        Parked("sleep", 12.5, reason="waits"),
        Parked("children", None, "413\n414", 2),
        Undoing(("a", "m[0]")),
        Undoing(),
    ],
)
def test_an_answer_comes_back(answer: Answer) -> None:
    assert wire.answer_from(wire.plain_answer(answer)) == answer


@pytest.mark.parametrize(
    "answer",
    [
        outcome.Retry("busy", after="5m"),
        outcome.Retry("busy"),
        outcome.Snooze("15m", "not yet"),
        outcome.Skip("no rows"),
        outcome.Fail("wrong market"),
        outcome.Cancel("not wanted"),
    ],
)
def test_an_outcome_comes_back(answer: outcome.Outcome) -> None:
    found = wire.answer_from(wire.plain_answer(answer))
    assert type(found) is type(answer)
    assert vars(found) == vars(answer)


def test_an_outcome_of_the_programs_own() -> None:
    class NotYet(outcome.Snooze):
        pass

    found = wire.answer_from(wire.plain_answer(NotYet(60, "a\x00b")))
    assert isinstance(found, outcome.Snooze)
    assert (found.after, found.reason) == (60.0, "a\\x00b")


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"kind": "other"},
        {"kind": "returned", "result": "no json"},
        {"kind": "returned", "result": '"a\\u0000b"'},
        {"kind": "raised", "failure": 7},
        {"kind": "Snooze", "reason": "", "after": "never"},
    ],
)
def test_what_is_no_answer(plain: wire.Message) -> None:
    with pytest.raises(wire.NotAFrame):
        wire.answer_from(plain)


def test_the_largest_value_fits() -> None:
    result = '"' + '\\"' * 2_000_000 + '"'
    frame = wire.pack({"answer": wire.plain_answer(Returned(result))})
    assert wire.size_of(frame[: wire.HEAD.size]) == len(frame) - wire.HEAD.size


@pytest.mark.parametrize("body", [b"\xff", b"{", b"[]", b"7"])
def test_what_is_no_message(body: bytes) -> None:
    with pytest.raises(wire.NotAFrame):
        wire.unpack(body)


def test_a_frame_is_bounded() -> None:
    with pytest.raises(wire.NotAFrame, match="a message of 4,294,967,295 bytes"):
        wire.size_of(b"\xff\xff\xff\xff")


@pytest.mark.parametrize(
    "record",
    [
        Past(
            2, {"step:a": Kept("1", 1, True, 12.5), "wait:2": Kept('{"a":1}', 2, False, 0.0, -1.0)}
        ),
        Entry("m", 2, "submitted", item="[1]", handle='"h"', submits=2),
        Waiting(key="wait:1", ordinal=1, kind="sleep", until=datetime(2026, 3, 6, tzinfo=UTC)),
        Waiting(key="wait:1", ordinal=None, kind="question", name="ä?", schema="{}", to="anna"),
        Met('"ä"', False, 1.5),
        Wanted(key="child:a", step="a", spent=1, job="kid", args={"n": [1]}),
        Wanted(
            key="child:a",
            step=None,
            spent=None,
            job="kid",
            args={},
            options=StartOptions(delay=5.0, overlap=Overlap.ALLOW, priority=3),
        ),
        Child(child_run(413, State.FAILED), 2),
        Child(child_run(413, State.SUCCEEDED, {"a": [1, None]}), None),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_comes_back(record: object) -> None:
    sent = wire.unpack(wire.pack({"it": wire.plain_record(record)})[wire.HEAD.size :])
    assert wire.record_from(type(record), sent["it"]) == record


def test_a_record_that_is_none() -> None:
    with pytest.raises(wire.NotAFrame, match="a message that is no Entry"):
        wire.record_from(Entry, {"key": "m"})
