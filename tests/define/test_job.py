"""Jobs: what they hold, ``using``, and what happens when one is called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from koken.app import App
from koken.define.body import Body
from koken.define.function import Function
from koken.define.job import Job
from koken.errors import DeclarationError, InvalidArguments
from koken.model.job import StartOptions
from koken.model.policy import Backoff, Overlap

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def delay_report(day: str = "today") -> str:
    return f"report of {day}"


JOB = App().job(delay_report, never_retry=FileNotFoundError, priority=3)


def test_what_a_job_holds() -> None:
    assert (JOB.name, JOB.spec.name, JOB.spec.priority) == ("delay_report", "delay_report", 3)
    assert isinstance(JOB.body, Function)
    assert JOB.fn("Monday") == "report of Monday"
    assert (JOB.executor, JOB.backoff) == ("thread", Backoff())
    assert (JOB.never_retry, JOB.options) == ((FileNotFoundError,), StartOptions())
    assert not JOB.foreign
    assert repr(JOB) == "Job('delay_report')"
    assert JOB.place == f"{__file__}:{delay_report.__code__.co_firstlineno}"


def test_call_is_refused_in_the_words_of_the_design() -> None:
    with pytest.raises(TypeError) as caught:
        JOB("Monday")  # type: ignore[operator]  # the mistake
    assert str(caught.value) == (
        "delay_report is a job. client.start(delay_report, …) starts it; "
        "delay_report.fn(…) calls the function here and now."
    )


def test_using_gives_a_copy() -> None:
    other = JOB.using(
        delay="5m",
        priority=-1,
        queue="reports",
        idempotency_key="k",
        overlap="refuse",
        logical_time=NOON,
    )
    assert other.options == StartOptions(
        delay=300.0,
        priority=-1,
        queue="reports",
        idempotency_key="k",
        overlap=Overlap.REFUSE,
        logical_time=NOON,
    )
    assert (other.body, other.spec, other.name) == (JOB.body, JOB.spec, "delay_report")
    assert JOB.options == StartOptions()


def test_using_adds_to_an_earlier_using() -> None:
    twice = JOB.using(priority=5, queue="a").using(queue="b", run_at=NOON)
    assert twice.options == StartOptions(priority=5, queue="b", run_at=NOON)


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        (
            {"run_at": datetime(2026, 11, 30)},  # naive on purpose
            {"run_at": "2026-11-30T00:00:00 has no time zone; add one, such as tzinfo=UTC"},
        ),
        (
            {"logical_time": "today"},
            {"logical_time": "'today' is not an instant; give a datetime with a time zone"},
        ),
        (
            {"run_at": NOON, "delay": 5},
            {"delay": "run_at and delay both say when; give one of them"},
        ),
        (
            {"delay": "soon"},
            {"delay": "delay is 'soon'; write it as '90s', '5m', '12h' or '1d 6h'"},
        ),
        (
            {"priority": 40000},
            {
                "priority": "priority is 40000; it is a whole number from -32768 to 32767, "
                "smaller first"
            },
        ),
        (
            {"idempotency_key": " "},
            {"idempotency_key": "the key is empty; leave it out, or write a key"},
        ),
        (
            {"idempotency_key": "k\0"},
            {
                "idempotency_key": "the key holds a NUL character, which PostgreSQL cannot store",
            },
        ),
        (
            {"idempotency_key": "k\udcff"},
            {"idempotency_key": "the key holds a lone surrogate, which is no character"},
        ),
        (
            {"run_at": datetime.max.replace(tzinfo=UTC)},
            {"run_at": "9999-12-31T23:59:59.999999+00:00 is outside of the years 1 to 8999"},
        ),
        (
            {"logical_time": datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))},
            {"logical_time": "0001-01-01T00:00:00+14:00 is outside of the years 1 to 8999"},
        ),
        (
            {"delay": "400000d"},
            {"delay": "delay is '400000d'; a duration is at most 1,000 years"},
        ),
        (
            {"delay": 10**400},
            {"delay": f"delay is {10**400!r}; a duration is finite and not negative"},
        ),
        (
            {"idempotency_key": "k" * 501},
            {"idempotency_key": "the key has 501 characters; the limit is 500"},
        ),
    ],
)
def test_using_refuses_values(options: dict[str, object], problems: dict[str, str]) -> None:
    with pytest.raises(InvalidArguments) as caught:
        JOB.using(**options)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.problems == problems
    assert str(caught.value).startswith(f"delay_report.using({next(iter(problems))}): ")


def test_using_refuses_unknown_names() -> None:
    with pytest.raises(TypeError) as caught:
        JOB.using(dealy="5m")  # type: ignore[call-arg]  # the mistake
    assert str(caught.value) == 'using() has no option "dealy"; did you mean "delay"?'


def test_job_of_another_program() -> None:
    job = Job("other.program")
    assert (job.name, job.foreign) == ("other.program", True)
    assert job.body.bind((), {"day": "today"}) == {"day": "today"}
    assert job.using(priority=1).foreign
    with pytest.raises(TypeError) as caught:
        job.fn  # noqa: B018  # it raises
    assert str(caught.value) == (
        "job 'other.program' is declared in another program, so there is no function to call"
    )
    with pytest.raises(InvalidArguments) as refused:
        job.body.bind(("today",), {})
    assert str(refused.value) == (
        "other.program: which arguments it takes is not known here, so give them by name. "
        "Nothing was started."
    )


def test_job_of_a_body() -> None:
    class Command(Body):
        description = "A command."

    job = App().job(Command(), name="command", lock="{anything}")
    assert (job.name, job.body.label, job.spec.description) == ("command", "command", "A command.")
    with pytest.raises(TypeError, match="has a body that is no function"):
        job.fn  # noqa: B018  # it raises
    with pytest.raises(DeclarationError) as caught:
        App().job(Command())
    assert str(caught.value) == (
        'A Command has no name of its own. Write app.job(Command(…), name="…").'
    )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (JOB, "delay_report is a job already. Declare its function: app.job(delay_report.fn)."),
        (5, "5 is neither a function nor a body from koken.executors."),
        (int, "<class 'int'> is neither a function nor a body from koken.executors."),
        (lambda: None, 'A lambda has no name of its own. Write app.job(…, name="…").'),
    ],
)
def test_what_cannot_be_a_job(target: object, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        App().job(target)  # type: ignore[call-overload]  # wrong on purpose
    assert str(caught.value) == message
