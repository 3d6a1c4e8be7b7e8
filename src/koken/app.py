"""``App``: what a program declares its jobs on."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, overload

from koken.define.asynccontext import AsyncContext
from koken.define.body import Body
from koken.define.context import Context
from koken.define.job import Job, declare
from koken.define.machine import Machine
from koken.define.options import JobOptions
from koken.define.registry import Lifespan, Registry
from koken.define.spelling import did_you_mean
from koken.define.workflow import DeclareWorkflow, Workflow, declare_workflow
from koken.errors import DeclarationError
from koken.model.outcome import Cancel, Fail, Retry, Skip, Snooze

P = ParamSpec("P")
R = TypeVar("R")

States = type[Enum] | Iterable[str | Enum]


class Declare(Protocol):
    """``app.job(…)`` with options: takes the function, gives its job."""

    @overload
    def __call__(
        self,
        fn: Callable[
            Concatenate[AsyncContext, P],
            Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel],
        ],
        /,
    ) -> Job[P, R]: ...

    @overload
    def __call__(
        self,
        fn: Callable[Concatenate[Context, P], R | Retry | Snooze | Skip | Fail | Cancel],
        /,
    ) -> Job[P, R]: ...

    @overload
    def __call__(
        self,
        fn: Callable[P, Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel]],
        /,
    ) -> Job[P, R]: ...

    @overload
    def __call__(
        self, fn: Callable[P, R | Retry | Snooze | Skip | Fail | Cancel], /
    ) -> Job[P, R]: ...


class App:
    """A program's jobs.

    ``name``: for people. ``modules``: what ``load`` imports, so that their jobs are known.
    ``lifespan``: called without arguments; gives a context manager that a worker enters before
    its first body and leaves after its last. ``settings``: as in ``koken.toml``; checked
    when a client or a worker is made.
    """

    def __init__(
        self,
        name: str = "",
        /,
        *,
        modules: Sequence[str] = (),
        lifespan: Lifespan | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(modules, str):
            raise DeclarationError(f"app {name!r}: modules is a list: [{modules!r}].")
        self.name = name
        self.modules = tuple(modules)
        self.lifespan = lifespan
        self.settings = settings
        self.registry = Registry()

    @overload
    def job(
        self,
        fn: Callable[
            Concatenate[AsyncContext, P],
            Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel],
        ],
        /,
        **options: Unpack[JobOptions],
    ) -> Job[P, R]: ...

    @overload
    def job(
        self,
        fn: Callable[Concatenate[Context, P], R | Retry | Snooze | Skip | Fail | Cancel],
        /,
        **options: Unpack[JobOptions],
    ) -> Job[P, R]: ...

    @overload
    def job(
        self,
        fn: Callable[P, Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel]],
        /,
        **options: Unpack[JobOptions],
    ) -> Job[P, R]: ...

    @overload
    def job(
        self,
        fn: Callable[P, R | Retry | Snooze | Skip | Fail | Cancel],
        /,
        **options: Unpack[JobOptions],
    ) -> Job[P, R]: ...

    @overload
    def job(self, body: Body, /, **options: Unpack[JobOptions]) -> Job[..., Any]: ...

    @overload
    def job(self, /, **options: Unpack[JobOptions]) -> Declare: ...

    def job(self, target: Any = None, /, **options: Any) -> Any:
        """Declare a job: ``@app.job``, ``@app.job(queue="reports")`` or ``app.job(body, name=…)``.

        The options, their defaults and what they mean: ``docs/howto/declare-jobs.md``.
        Raises ``DeclarationError`` when the job cannot be as it is declared.
        """
        if target is None:
            return lambda fn: self.job(fn, **options)
        job = declare(target, options)
        self.registry.add(job)
        return job

    def machine(
        self, name: str, /, *, table: str, column: str, key: str = "id", states: States
    ) -> Machine:
        """The states of the rows of ``table``, which stands in the database of Koken.

        ``column`` has the state, ``key`` tells rows apart; names are meant as they are written,
        ``schema.table`` has two. ``states``: a StrEnum, or the texts that the column may have.
        Raises ``DeclarationError`` when a name is taken or the states are no texts.
        """
        return Machine(self.registry, name, table=table, column=column, key=key, states=states)

    @overload
    def workflow(self, fn: Callable[P, None], /, **options: Unpack[JobOptions]) -> Workflow[P]: ...

    @overload
    def workflow(self, name: str, /, **options: Unpack[JobOptions]) -> Workflow[[]]: ...

    @overload
    def workflow(self, /, **options: Unpack[JobOptions]) -> DeclareWorkflow: ...

    def workflow(self, target: Any = None, /, **options: Any) -> Any:
        """Declare a workflow: ``@app.workflow`` over an empty function, or by a name.

        The function's signature is the workflow's arguments, its docstring the runbook; a name
        alone has no arguments. ``workflow.step`` declares the steps, to which ``queue``,
        ``priority``, ``max_attempts``, ``backoff``, ``never_retry`` and ``timeout`` go as defaults.
        Raises ``DeclarationError`` when it cannot be as it is declared.
        """
        if target is None:
            return lambda fn: self.workflow(fn, **options)
        workflow = declare_workflow(target, options)
        self.registry.add(workflow)
        return workflow

    def load(self) -> None:
        """Import the modules, so that their jobs are declared, and check what is declared.

        Raises ``DeclarationError`` when a module cannot be found, or the steps of a workflow do not
        fit together.
        """
        for module in self.modules:
            found(module, f"app {self.name!r}: modules names")
        self.registry.check()

    def __repr__(self) -> str:
        return f"App({self.name!r})"


def load_app(address: str) -> App:
    """The app at ``address``: ``flights.jobs:app``, or ``flights.jobs`` when it is the only one.

    Looks in the current folder as well. Raises ``DeclarationError`` when there is none.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    path, _, name = address.partition(":")
    if not path or path.endswith(".py") or "/" in path:
        module = path.removesuffix(".py").strip("./").replace("/", ".")
        raise DeclarationError(
            f"app {address!r} is no address. Write {module or 'module'}:{name or 'app'}."
        )
    module = found(path, "app is")
    apps = {key: value for key, value in vars(module).items() if isinstance(value, App)}
    return pick(path, name, apps, vars(module)) if name else only(path, apps)


def pick(module: str, name: str, apps: dict[str, App], names: dict[str, Any]) -> App:
    """The app called ``name`` in a module."""
    if name in apps:
        return apps[name]
    if name in names:
        kind = type(names[name]).__name__
        article = "an" if kind[:1].lower() in "aeiou" else "a"
        raise DeclarationError(
            f"{module}:{name} is {article} {kind}, not a koken.App.{others(module, apps)}"
        )
    meant = did_you_mean(name, names) or others(module, apps)
    raise DeclarationError(f"module {module!r} has no {name!r}.{meant}")


def only(module: str, apps: dict[str, App]) -> App:
    """The one app of a module, however many names it has there."""
    different = {id(app): app for app in apps.values()}
    if not apps:
        raise DeclarationError(
            f"module {module!r} has no app. Add one: app = koken.App({module!r})."
        )
    if len(different) > 1:
        choice = " or ".join(f"{module}:{name}" for name in apps)
        raise DeclarationError(f"module {module!r} has {len(different)} apps. Say which: {choice}.")
    return next(iter(apps.values()))


def others(module: str, apps: dict[str, App]) -> str:
    """The apps that a module does have, as a hint."""
    return f" It has {', '.join(f'{module}:{name}' for name in apps)}." if apps else ""


def found(module: str, what: str) -> Any:
    """The module of that name, imported; ``what`` begins the message when there is none.

    An error inside the module is raised as it is.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise DeclarationError(
            f"{what} {module!r}, but there is no module {error.name!r} here. "
            "Is the folder right, and is the package installed?"
        ) from None
