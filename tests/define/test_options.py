"""Options of a job: what they become, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from koken.app import App
from koken.errors import DeclarationError
from koken.model.job import JobSpec
from koken.model.outcome import Skip
from koken.model.policy import Backoff, Effect, Lock, Overlap
from koken.model.schedule import Schedule


def report(size: int = 1) -> None:
    """Runbook."""


def set_up(experiment_id: int) -> None: ...


def no_arguments() -> None: ...


def spec_of(fn: Callable[..., Any], **options: Any) -> JobSpec:
    return App().job(fn, **options).spec


def refusal(fn: Callable[..., Any], **options: Any) -> str:
    with pytest.raises(DeclarationError) as caught:
        App().job(fn, **options)
    return str(caught.value)


def test_without_options() -> None:
    spec = spec_of(report)
    assert spec == JobSpec(
        name="report",
        description="Runbook.",
        queue="default",
        max_attempts=1,
        backoff=Backoff("exponential", base="10s", cap="1h", jitter=0.25),
        max_infra_attempts=3,
        executor="thread",
        parameters=spec.parameters,
        defaults={"size": 1},
    )


def test_with_all_options() -> None:
    spec = spec_of(
        report,
        name="REPORT.daily-1",
        description="Other words.",
        owner="data",
        tags=["night", "money"],
        type="REPORT",
        queue="reports",
        priority=-5,
        schedule=["30 6 * * *", Schedule("0 9 * * *", timezone="Asia/Tokyo", args={"size": 2})],
        timezone="America/New_York",
        overlap="skip_if_running",
        overlap_key="{size}",
        max_attempts=5,
        backoff="2m",
        never_retry=(FileNotFoundError, KeyError),
        max_infra_attempts=7,
        timeout="10m",
        start_timeout=timedelta(hours=1),
        run_timeout=90,
        lock="report:{size}",
        subject="size:{size}",
        effect="idempotent",
        executor="process",
        keep={"succeeded": "30d", "failed": "180d"},
    )
    assert (spec.name, spec.description, spec.owner) == ("REPORT.daily-1", "Other words.", "data")
    assert (spec.tags, spec.type) == (("night", "money"), "REPORT")
    assert (spec.queue, spec.priority, spec.executor) == ("reports", -5, "process")
    assert [each.zone for each in spec.schedules] == ["America/New_York", "Asia/Tokyo"]
    assert (spec.overlap, spec.overlap_key) == (Overlap.SKIP_IF_RUNNING, "{size}")
    assert (spec.max_attempts, spec.max_infra_attempts) == (5, 7)
    assert spec.backoff == Backoff("fixed", base=120, jitter=0)
    assert spec.never_retry == ("builtins.FileNotFoundError", "builtins.KeyError")
    assert (spec.timeout, spec.start_timeout, spec.run_timeout) == (600.0, 3600.0, 90.0)
    assert (spec.lock, spec.subject) == (Lock("report:{size}"), "size:{size}")
    assert spec.effect is Effect.IDEMPOTENT
    assert spec.keep == {"succeeded": 2592000.0, "failed": 15552000.0}


def test_none_is_the_same_as_leaving_out() -> None:
    assert spec_of(report, queue=None, lock=None, effect=None, timeout=None) == spec_of(report)


def test_backoff_forms() -> None:
    app = App()
    own = Backoff("linear", base="1m")

    def rule(attempt: int, error: Exception) -> float | None:
        return attempt * 2.0

    kept = app.job(report, name="kept", backoff=own)
    fixed = app.job(report, name="fixed", backoff=timedelta(seconds=30))
    ruled = app.job(report, name="ruled", backoff=rule)
    assert (kept.backoff, kept.spec.backoff) == (own, own)
    assert fixed.backoff == Backoff("fixed", base=30, jitter=0)
    assert (ruled.backoff, ruled.spec.backoff) == (rule, None)


def test_backoff_function_that_cannot_be_called() -> None:
    def rule(attempt: int) -> float:
        return attempt

    assert refusal(report, backoff=rule) == (
        "job 'report': backoff is a function of (attempt, error), and the function rule cannot be "
        "called so: too many positional arguments."
    )


def test_unsafe_effect_is_never_repeated_for_the_infrastructure() -> None:
    assert spec_of(report, effect="unsafe").max_infra_attempts == 0
    assert spec_of(report, effect="unsafe", max_infra_attempts=0).max_infra_attempts == 0
    assert refusal(report, effect="unsafe", max_infra_attempts=2) == (
        "job 'report': effect 'unsafe' says that a second go does harm, so max_infra_attempts is "
        "0. Leave it out, or name another effect."
    )


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("ALWAYS_RUN", Overlap.ALLOW),
        ("SKIP_IF_RUNNING", Overlap.SKIP_IF_RUNNING),
        ("queue_one", Overlap.QUEUE_ONE),
        (Overlap.REFUSE, Overlap.REFUSE),
    ],
)
def test_names_of_overlap_rules(name: str, rule: Overlap) -> None:
    assert spec_of(report, overlap=name).overlap is rule


def test_executor_may_be_an_object() -> None:
    class Place:
        name = "process"

    place = Place()
    job = App().job(report, executor=place)
    assert (job.executor, job.spec.executor) == (place, "process")


SIGNS = "a name is made of letters a-z, digits, _ . and -, and does not begin with . or -."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_atempts": 3}, "there is no option 'max_atempts'. Did you mean max_attempts?"),
        ({"colour": "red"}, "there is no option 'colour'."),
        ({"queue": "a/b"}, f"queue is 'a/b'; {SIGNS}"),
        ({"queue": "q" * 201}, "queue has 201 characters; the limit is 200."),
        (
            {"priority": 40000},
            ("priority is 40000; it is a whole number from -32768 to 32767, smaller first."),
        ),
        (
            {"priority": True},
            ("priority is True; it is a whole number from -32768 to 32767, smaller first."),
        ),
        ({"owner": 5}, "owner is 5; write a text."),
        ({"owner": "a\x00"}, "owner holds a NUL character, which PostgreSQL cannot store."),
        ({"tags": 5}, "tags is 5; write a list."),
        ({"tags": ["a", " "]}, "a tag is empty; leave it out, or write a key."),
        (
            {"schedule": "30 25 * * *"},
            (
                "schedule '30 25 * * *': hour 25 is not in 0-23. "
                "(Field 2 of 5; EventBridge's six fields go in cron(…).)"
            ),
        ),
        (
            {"timezone": "Europe/Berln"},
            "timezone 'Europe/Berln' is no IANA time zone. Did you mean 'Europe/Berlin'?",
        ),
        (
            {"overlap": "skip"},
            (
                "overlap is 'skip'; the rules are allow, skip_if_running, skip_if_failed, "
                "skip_if_running_or_failed, queue_one, queue_all, replace, refuse."
            ),
        ),
        ({"max_attempts": 0}, "max_attempts is 0; it is a whole number from 1."),
        ({"max_attempts": "3"}, "max_attempts is '3'; it is a whole number from 1."),
        ({"max_attempts": 40000}, "max_attempts is 40000; the limit is 32767."),
        ({"max_infra_attempts": -1}, "max_infra_attempts is -1; it is a whole number from 0."),
        ({"backoff": "often"}, "backoff is 'often'; write it as '90s', '5m', '12h' or '1d 6h'."),
        (
            {"backoff": [1, 2]},
            "backoff is [1, 2]; write '5m', Backoff(…), or a function of (attempt, error).",
        ),
        ({"never_retry": 5}, "never_retry is 5; write a list."),
        (
            {"never_retry": Skip},
            "never_retry holds <class 'koken.model.outcome.Skip'>, which is no exception type.",
        ),
        ({"timeout": 0}, "timeout is 0; leave it out for no limit."),
        ({"run_timeout": "x"}, "run_timeout is 'x'; write it as '90s', '5m', '12h' or '1d 6h'."),
        (
            {"effect": "unsave"},
            (
                "effect is 'unsave'; the effects are pure, idempotent, transactional, once, "
                "unsafe. Did you mean unsafe?"
            ),
        ),
        (
            {"effect": "safe"},
            "effect is 'safe'; the effects are pure, idempotent, transactional, once, unsafe.",
        ),
        (
            {"executor": "proces"},
            (
                "executor is 'proces'; it is thread, loop, process or an object from "
                "koken.executors. Did you mean process?"
            ),
        ),
        ({"executor": "loop"}, "executor 'loop' carries out async def, not def; leave it out."),
        (
            {"keep": {"succeded": "1d"}},
            (
                "keep names 'succeded'; the outcomes are cancelled, failed, skipped, succeeded. "
                "Did you mean succeeded?"
            ),
        ),
        (
            {"keep": {"failed": "long"}},
            "keep['failed'] is 'long'; write it as '90s', '5m', '12h' or '1d 6h'.",
        ),
        ({"keep": "30d"}, "keep is '30d'; write {'succeeded': '30d', …}."),
    ],
)
def test_option_that_cannot_be(options: dict[str, Any], message: str) -> None:
    assert refusal(report, **options) == f"job 'report': {message}"


@pytest.mark.parametrize("name", ["a b", "", ".hidden", "-x", "naïve", 5])
def test_name_that_cannot_be(name: Any) -> None:
    shown = name or "report"
    if name:
        assert refusal(report, name=name) == f"job {shown!r}: name is {shown!r}; {SIGNS}"
    else:
        assert spec_of(report, name=name).name == "report"


def test_schedule_of_a_job_with_an_argument_to_give() -> None:
    assert refusal(set_up, schedule="0 2 * * *") == (
        "job 'set_up' has a schedule, but its argument 'experiment_id' has no default. "
        'Give it one, or Schedule("…", args={"experiment_id": …}).'
    )
    given = Schedule("0 2 * * *", args={"experiment_id": 5})
    filled = Schedule("0 2 * * *", args={"experiment_id": "{logical_time:%Y%m%d}"})
    assert spec_of(set_up, schedule=[given, filled]).schedules[0].args == {"experiment_id": 5}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"size": "big"}, "args['size'] 'big' is not a whole number."),
        ({"sise": 1}, "args['sise'] is not an argument. Did you mean size?"),
        (
            {"size": "{logcal_time:%Y}"},
            (
                "args['size'] '{logcal_time:%Y}' names 'logcal_time'; it may name workspace, "
                "logical_time. Did you mean logical_time?"
            ),
        ),
        (
            {"sise": "{logical_time:%Y}"},
            "args['sise'] is not an argument. Did you mean size?",
        ),
    ],
)
def test_schedule_with_arguments_that_do_not_fit(args: dict[str, Any], message: str) -> None:
    schedule = Schedule("0 2 * * *", args=args)
    assert refusal(report, schedule=schedule) == f"job 'report': schedule '0 2 * * *': {message}"


def test_schedules_that_cannot_be_told_apart() -> None:
    twice = [Schedule("0 2 * * *", name="night"), Schedule("0 3 * * *", name="night")]
    assert refusal(report, schedule=twice) == (
        "job 'report' has two schedules called 'night'. Name each of them: "
        'Schedule("…", name="…").'
    )
    assert len(spec_of(report, schedule=["0 2 * * *", "0 3 * * *"]).schedules) == 2


@pytest.mark.parametrize("option", ["lock", "subject", "overlap_key"])
def test_key_that_names_no_argument(option: str) -> None:
    assert refusal(set_up, **{option: "experiment:{exp_id}"}) == (
        f"job 'set_up': {option} 'experiment:{{exp_id}}' names 'exp_id'; the arguments are "
        "experiment_id. Did you mean experiment_id?"
    )
    assert refusal(no_arguments, **{option: "{day}"}) == (
        f"job 'no_arguments': {option} '{{day}}' names 'day'; there are no arguments."
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "a lock needs a key, such as 'customer:{customer_id}'."),
        (
            "{0}",
            (
                "lock '{0}': {0} is no name. Write {name} or {name.field}, and {{ for a brace "
                "that is meant as one."
            ),
        ),
        (
            "{}",
            (
                "lock '{}': {} is no name. Write {name} or {name.field}, and {{ for a brace that "
                "is meant as one."
            ),
        ),
        (
            "{size!r}",
            (
                "lock '{size!r}': {size!r} is no name. Write {name} or {name.field}, and {{ "
                "for a brace that is meant as one."
            ),
        ),
        ("{size", "lock '{size': expected '}' before end of string."),
    ],
)
def test_key_that_cannot_be_read(key: str, message: str) -> None:
    assert refusal(report, lock=key) == f"job 'report': {message}"


@pytest.mark.parametrize(
    "key", ["cluster", "{size}", "{size.width}:{workspace}", "{logical_time}", "{{x}}"]
)
def test_key_that_is_fine(key: str) -> None:
    assert spec_of(report, lock=key, subject=key, overlap_key=key).lock == Lock(key)


def test_lock_object_is_checked_as_well() -> None:
    lock = Lock("customer:{sise}", limit=3)
    assert refusal(report, lock=lock) == (
        "job 'report': lock 'customer:{sise}' names 'sise'; the arguments are size. "
        "Did you mean size?"
    )
