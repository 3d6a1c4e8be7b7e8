"""Machines: the states of a program's own rows, and the transitions between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from koken.define import checks
from koken.define.job import Job
from koken.define.keys import names_in
from koken.define.registry import Registry
from koken.define.rules import Guard, Who, asking, guarding
from koken.define.spelling import did_you_mean, spelt
from koken.errors import DeclarationError
from koken.model.shown import shown

State = str | Enum
PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
NOT_SHARED = "workspace"
"""The one name beside the subject's id that the subject of a job may have in it here."""


@dataclass(frozen=True, slots=True)
class About:
    """What a job is about: the key of its subject, and the argument in it that has the id."""

    key: str
    argument: str

    @property
    def shape(self) -> str:
        """The key whatever the argument is called."""
        return self.key.replace(f"{{{self.argument}}}", "{}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Transition:
    """A way from some states to another; ``client.move`` takes a row along it."""

    machine: Machine
    name: str
    sources: tuple[str, ...]
    target: str
    guard: Guard | None
    who: Who | tuple[str, ...] | None
    start: Job[..., Any] | None
    on_success: str | None
    on_failure: str | None
    supersedes: tuple[Job[..., Any], ...]
    excludes: tuple[Job[..., Any], ...]

    @property
    def argument(self) -> str | None:
        """The argument of the started job that gets the subject's id."""
        return None if self.start is None else first_argument(self.start)

    @property
    def about(self) -> About | None:
        """The subject of the jobs that this transition sets against others."""
        for job in (*self.excludes, *self.supersedes):
            return about(job)
        return None

    @property
    def jobs(self) -> tuple[Job[..., Any], ...]:
        """All jobs that it names."""
        return (*filter(None, (self.start,)), *self.supersedes, *self.excludes)

    def __repr__(self) -> str:
        return f"Transition({self.machine.name!r}, {self.name!r})"


class Machine:
    """The states of rows of one of the program's own tables, in the database of Koken.

    Made by ``app.machine``, which see. ``table`` has one or two parts, ``states`` are as the
    column has them.
    """

    def __init__(
        self, registry: Registry, name: str, *, table: str, column: str, key: str, states: Any
    ) -> None:
        self.registry = registry
        try:
            self.name = named(name, "name")
            self.table = parts(named(table, "table"))
            self.column = named(column, "column")
            self.key = named(key, "key")
            self.states = texts(states)
        except DeclarationError as error:
            raise DeclarationError(f"machine {name!r}: {checks.sentence(str(error))}") from None
        if self.name in registry.machines:
            raise DeclarationError(
                f"machine {name!r} is declared twice. Give one of them another name."
            )
        registry.machines.add(self.name)
        self.transitions: dict[str, Transition] = {}

    @spelt
    def transition(
        self,
        name: str,
        source: State | Iterable[State],
        target: State,
        /,
        *,
        guard: Guard | None = None,
        who: Who | Iterable[str] | None = None,
        start: Job[..., Any] | None = None,
        on_success: State | None = None,
        on_failure: State | None = None,
        supersedes: Job[..., Any] | Iterable[Job[..., Any]] = (),
        excludes: Job[..., Any] | Iterable[Job[..., Any]] = (),
    ) -> Transition:
        """Declare a way from ``source``, one state or several, to ``target``.

        ``guard``: gets the row, gives None or the text that refuses. ``who``: names that may, or
        a function of who asks and the row. ``start``: the job that a move starts; its first
        argument gets the row's key, the others come from ``client.move``. ``on_success`` and
        ``on_failure``: where the job's end moves the row, if it still stands in ``target``.
        ``supersedes``: jobs whose runs on the same subject end before the started one begins.
        ``excludes``: jobs during whose runs on the subject the move is refused.
        Raises ``DeclarationError`` when it cannot be as it is declared.
        """
        try:
            made = Transition(
                machine=self,
                name=named(name, "name"),
                sources=tuple(self.state(each, "goes from") for each in several(source)),
                target=self.state(target, "goes to"),
                guard=guarding(guard),
                who=asking(who),
                start=start,
                on_success=self.state_or_none(on_success, "on_success is"),
                on_failure=self.state_or_none(on_failure, "on_failure is"),
                supersedes=checks.several(supersedes, "supersedes", Job),
                excludes=checks.several(excludes, "excludes", Job),
            )
            self.check(made)
        except DeclarationError as error:
            raise DeclarationError(
                f"machine {self.name!r}: transition {name!r}: {checks.sentence(str(error))}"
            ) from None
        self.transitions[made.name] = made
        if made.supersedes or made.excludes:
            self.registry.exclusive |= {job.name for job in made.jobs}
        return made

    def state(self, value: object, how: str) -> str:
        """A state of this machine, as the column has it."""
        found = value.value if isinstance(value, Enum) else value
        if not isinstance(found, str) or found not in self.states:
            meant = did_you_mean(str(found), self.states)
            raise DeclarationError(
                f"{how} {found!r}; the states are {', '.join(self.states)}.{meant}"
            )
        return found

    def state_or_none(self, value: object, how: str) -> str | None:
        """A state, where there is one."""
        return None if value is None else self.state(value, how)

    def check(self, made: Transition) -> None:
        """Refuse what could not work when somebody moves."""
        if made.name in self.transitions:
            raise DeclarationError("there is one of that name already; give it another")
        if not made.sources:
            raise DeclarationError("goes from no state; name one")
        for job in made.jobs:
            self.check_job(job)
        if made.start is not None:
            first_argument(made.start)
        else:
            for option in ("on_success", "on_failure", "supersedes"):
                if getattr(made, option):
                    raise DeclarationError(f"{option} is about the job that it starts; add start=")
        if made.supersedes or made.excludes:
            check_subjects(made.jobs)

    def check_job(self, job: object) -> None:
        """Refuse what is no job of this program."""
        if not isinstance(job, Job):
            raise DeclarationError(f"{shown(job)} is no job; declare it with @app.job")
        known = self.registry.jobs.get(job.name)
        if known is None or known.body is not job.body:
            raise DeclarationError(
                f"job {job.name!r} is not of this app; a machine starts and stops its app's jobs"
            )

    def __repr__(self) -> str:
        return f"Machine({self.name!r})"


def first_argument(job: Job[..., Any]) -> str:
    """The argument of a job that gets the subject's id."""
    names = job.body.argument_names
    if not names:
        raise DeclarationError(
            f"job {job.name!r} has no argument for the subject's id. Give it one, the first"
        )
    return names[0]


def about(job: Job[..., Any]) -> About:
    """What a job is about. Raises ``DeclarationError`` when the id of a row does not tell."""
    argument = first_argument(job)
    key = job.declared.subject
    if key is None:
        raise DeclarationError(
            f"job {job.name!r} has no subject, so nobody knows what it works on. "
            f'Write subject="…:{{{argument}}}"'
        )
    names = set(names_in("subject", key, formats=False))
    if argument not in names or not names <= {argument, NOT_SHARED}:
        raise DeclarationError(
            f"job {job.name!r} is about {key!r}; a machine knows the subject by its id alone. "
            f'Write subject="…:{{{argument}}}"'
        )
    return About(key, argument)


def check_subjects(jobs: Iterable[Job[..., Any]]) -> None:
    """Refuse jobs that would not meet, because they call one subject by different keys."""
    first, *others = ((job, about(job)) for job in jobs)
    for job, other in others:
        if other.shape != first[1].shape:
            raise DeclarationError(
                f"job {job.name!r} is about {other.key!r}, job {first[0].name!r} about "
                f"{first[1].key!r}; they meet only on the same subject. Write both alike"
            )


def named(value: object, option: str) -> str:
    """A name, of whatever characters."""
    found = checks.text(value, option)
    if not found.strip():
        raise DeclarationError(f"{option} is empty; write a name")
    return found


def parts(table: str) -> tuple[str, ...]:
    """``sales.orders`` as its parts; what stands in double quotes may have dots in it."""
    names = []
    place = 0
    while found := PART.match(table, place):
        names.append(found[1].replace('""', '"') if found[1] else found[2])
        place = found.end()
        if place == len(table) and len(names) <= 2:
            return tuple(names)
        if table[place : place + 1] != ".":
            break
        place += 1
    raise DeclarationError(f"table is {table!r}; write a name, or schema.name")


def several(value: Any) -> tuple[Any, ...]:
    """The sources; one stands for a list of itself."""
    return checks.several(value, "the source", (str, Enum))


def texts(states: Any) -> tuple[str, ...]:
    """The states as texts, of an Enum or a list."""
    found = []
    for each in checks.several(states, "states", str):
        value = each.value if isinstance(each, Enum) else each
        if not isinstance(value, str):
            raise DeclarationError(
                f"{each} stands for {shown(value)}; a state is a text, as the column has it. Use a "
                "StrEnum, or write states=[each.name for each in …]"
            )
        found.append(checks.filled(value, "a state"))
    if not found:
        raise DeclarationError("there are no states; name them")
    return tuple(dict.fromkeys(found))
