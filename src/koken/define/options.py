"""The options of a job: their names and types, and how they become a ``JobSpec``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict

from koken.define import checks
from koken.define.body import Body
from koken.define.keys import check_filled, check_key
from koken.define.spelling import did_you_mean
from koken.errors import DeclarationError, InvalidArguments
from koken.model import zones
from koken.model.duration import Duration
from koken.model.job import QUEUE_DEFAULT, JobSpec
from koken.model.policy import Backoff, Effect, Lock, Overlap
from koken.model.schedule import Schedule
from koken.model.shown import shown

BackoffRule = Callable[[int, Exception], Duration | None]
"""Gets the number of the attempt that failed and its error; gives the wait, or None: give up."""

OverlapName = Literal[
    "allow",
    "skip_if_running",
    "skip_if_failed",
    "skip_if_running_or_failed",
    "queue_one",
    "queue_all",
    "replace",
    "refuse",
]
EffectName = Literal["pure", "idempotent", "transactional", "once", "unsafe"]
OutcomeName = Literal["succeeded", "failed", "skipped", "cancelled"]
ExecutorName = Literal["thread", "loop", "process"]

MAX_INFRA_ATTEMPTS = 3


class Executor(Protocol):
    """What a job needs to know of an object that says where it is carried out."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The kind of place, such as ``process`` or ``slurm``."""


class Startable(Protocol):
    """What a job needs to know of another one that follows it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name."""

    @property
    @abstractmethod
    def body(self) -> Body:
        """What it carries out; says which arguments it must be given."""


class JobOptions(TypedDict, total=False):
    """The options of ``app.job`` and ``app.workflow``; none of them is required.

    ``None`` is the same as leaving out.
    """

    name: str | None
    description: str | None
    owner: str | None
    tags: Iterable[str] | None
    type: str | None
    queue: str | None
    priority: int | None
    schedule: str | Schedule | Sequence[str | Schedule] | None
    timezone: str | None
    overlap: OverlapName | Overlap | None
    overlap_key: str | None
    max_attempts: int | None
    backoff: Duration | Backoff | BackoffRule | None
    never_retry: type[Exception] | Iterable[type[Exception]] | None
    max_infra_attempts: int | None
    timeout: Duration | None
    start_timeout: Duration | None
    run_timeout: Duration | None
    lock: str | Lock | None
    subject: str | None
    effect: EffectName | Effect | None
    executor: ExecutorName | Executor | None
    on_success: Startable | None
    on_failure: Startable | None
    fail_fast: bool | None
    keep: Mapping[OutcomeName, Duration] | None


KNOWN = tuple(JobOptions.__annotations__)


def job_name(value: object) -> str:
    """The name of a job. Raises ``DeclarationError`` when it cannot be one."""
    try:
        return checks.name(value, "name")
    except DeclarationError as error:
        raise DeclarationError(f"job {shown(value)}: {error}.") from None


def given(options: Mapping[str, Any], job: str) -> dict[str, Any]:
    """The options that are set. Raises ``DeclarationError`` for one that there is not."""
    for name in options:
        if name not in KNOWN:
            meant = did_you_mean(name, KNOWN)
            raise DeclarationError(f"job {job!r}: there is no option {name!r}.{meant}")
    return {name: value for name, value in options.items() if value is not None}


def specify(
    job: str, body: Body, options: Mapping[str, Any], keyed: Sequence[str] | None = None
) -> JobSpec:
    """The job ``job`` as data; ``options`` come from ``given``.

    ``keyed`` are the names that its keys may use, where these are not its arguments.
    Raises ``DeclarationError`` when an option cannot be as it is.
    """
    name = job_name(job)
    try:
        spec = JobSpec(
            name=name,
            **texts(options, body.description),
            **places(body, options),
            **times(options),
            **rules(options),
            **keys(options, body.argument_names if keyed is None else keyed),
            **followers(body, options),
            parameters=body.parameters,
            defaults=body.defaults,
        )
    except (DeclarationError, ValueError) as error:
        raise DeclarationError(f"job {job!r}: {checks.sentence(str(error))}") from None
    check_schedules(spec, body)
    return spec


def texts(options: Mapping[str, Any], description: str) -> dict[str, Any]:
    """The options that are for people and lists."""
    return {
        "description": checks.text(options.get("description", description), "description"),
        "owner": checks.text(options.get("owner", ""), "owner"),
        "type": checks.text(options.get("type", ""), "type"),
        "tags": checks.tags(options.get("tags", ())),
    }


def places(body: Body, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say where and in which order runs are carried out."""
    return {
        "queue": checks.name(options.get("queue", QUEUE_DEFAULT), "queue"),
        "priority": checks.priority(options.get("priority", 0)),
        "executor": checks.executor(options.get("executor", body.usual_executor), body),
    }


def times(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are about when and how long."""
    zone = zones.named(options.get("timezone", "UTC")).key
    limits = {
        name: checks.length(options[name], name) if name in options else None
        for name in ("timeout", "start_timeout", "run_timeout")
    }
    return {
        "timezone": zone,
        "schedules": tuple(each.in_zone(zone) for each in schedules(options.get("schedule", ()))),
        "keep": checks.keep(options.get("keep", {})),
        **limits,
    }


def rules(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say what becomes of errors, of second runs and of lost workers."""
    effect = checks.effect(options["effect"]) if "effect" in options else None
    backoff = checks.backoff(options.get("backoff", Backoff()))
    errors = checks.errors(options.get("never_retry", ()))
    return {
        "overlap": checks.overlap(options["overlap"]) if "overlap" in options else None,
        "max_attempts": checks.count(options.get("max_attempts", 1), "max_attempts", least=1),
        "max_infra_attempts": infra_attempts(options, effect),
        "backoff": backoff if isinstance(backoff, Backoff) else None,
        "never_retry": tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in errors),
        "effect": effect,
    }


def keys(options: Mapping[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """The options with places in them for ``names``."""
    lock = options.get("lock")
    if lock is not None and not isinstance(lock, Lock):
        lock = Lock(checks.text(lock, "lock"))
    subject, overlap_key = options.get("subject"), options.get("overlap_key")
    for option, key in (
        ("lock", lock and lock.key),
        ("subject", subject),
        ("overlap_key", overlap_key),
    ):
        if key is not None:
            check_key(option, checks.filled(key, option), names)
    return {"lock": lock, "subject": subject, "overlap_key": overlap_key}


def followers(body: Body, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options about what an end, and a failed step, bring about."""
    return {
        "fail_fast": checks.flag(options.get("fail_fast", False), "fail_fast"),
        **{
            option: checks.follower(options[option], option, body)
            for option in ("on_success", "on_failure")
            if option in options
        },
    }


def schedules(option: Any) -> list[Schedule]:
    """The schedules, understood."""
    found = []
    for each in checks.several(option, "schedule", (str, Schedule)):
        try:
            found.append(each if isinstance(each, Schedule) else Schedule(each))
        except DeclarationError as error:
            raise DeclarationError(f"schedule {error}") from None
    return found


def infra_attempts(options: Mapping[str, Any], effect: Effect | None) -> int:
    """How often the infrastructure may fail the body; never again when that may do harm."""
    usual = 0 if effect is Effect.UNSAFE else MAX_INFRA_ATTEMPTS
    number = checks.count(options.get("max_infra_attempts", usual), "max_infra_attempts", least=0)
    if number and effect is Effect.UNSAFE:
        raise DeclarationError(
            "effect 'unsafe' says that a second go does harm, so max_infra_attempts is 0. "
            "Leave it out, or name another effect"
        )
    return number


def check_schedules(spec: JobSpec, body: Body) -> None:
    """Refuse schedules that could not start the job, or not be told apart."""
    names = [schedule.name or str(number) for number, schedule in enumerate(spec.schedules, 1)]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(
                f"job {spec.name!r} has two schedules called {name!r}. Name each of them: "
                'Schedule("…", name="…").'
            )
    for schedule in spec.schedules:
        missing = [name for name in body.required if name not in schedule.args]
        if missing:
            raise DeclarationError(
                f"job {spec.name!r} has a schedule, but its argument {missing[0]!r} has no "
                f'default. Give it one, or Schedule("…", args={{"{missing[0]}": …}}).'
            )
        try:
            check_args(schedule, body)
        except DeclarationError as error:
            raise DeclarationError(
                f"job {spec.name!r}: schedule {schedule.expression!r}: {error}"
            ) from None


def check_args(schedule: Schedule, body: Body) -> None:
    """Refuse arguments that do not fit; texts with places are known at a due time only."""
    later = [
        name
        for name, value in schedule.args.items()
        if isinstance(value, str) and check_filled(f"args[{name!r}]", value)
    ]
    if not later:
        try:
            body.bind_plain(schedule.args)
        except InvalidArguments as error:
            wrong = "; ".join(f"args[{path!r}] {text}" for path, text in error.problems.items())
            raise DeclarationError(checks.sentence(wrong)) from None
    for name in later:
        if body.argument_names is not None and name not in body.argument_names:
            meant = did_you_mean(name, body.argument_names)
            raise DeclarationError(f"args[{name!r}] is not an argument.{meant}")
