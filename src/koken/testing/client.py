"""``TestClient``: a client with a database of its own, a worker driven by hand, and a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

from typing_extensions import override

from koken.app import App
from koken.client.blocking import Client
from koken.client.portal import Portal
from koken.define.job import Job
from koken.define.machine import Transition
from koken.define.registry import Lifespan, Registry
from koken.define.spelling import did_you_mean
from koken.define.starting import aware
from koken.model.duration import Duration, seconds
from koken.model.run import Run
from koken.testing import looks
from koken.testing.cast import Raisable, Role
from koken.testing.databases import Place
from koken.testing.stage import Stage
from koken.views import steps
from koken.views.ticks import TickRow, of_job

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
MOST = 1000
"""Runs of one job, or ticks, that are looked through."""


class TestClient(Client):
    """A ``Client`` of ``app`` for one test: it does what it is told, and nothing else happens.

    Its database is a private one, made here and dropped when it is closed, on the server that
    ``KOKEN_TEST_DATABASE_URL`` names or on one that is started for the tests. Its worker carries
    bodies for real, one at a time, when ``drain``, ``run``, ``advance``, ``fast_forward``, ``wait``
    or ``result`` is called. Its clock begins with the machine's time and then stands still, bodies
    included, until it is moved.
    """

    __test__ = False  # for pytest: the name begins like a test's

    def __init__(self, app: App, /, *, by: str = "", workspace: str = "") -> None:
        app.load()
        place = Place.new()
        elsewhere = {"database_url": place.url, "listen_url": "", "pooled": False}
        super().__init__(
            Played(
                name=app.name,
                registry=app.registry,
                settings={**app.settings, **elsewhere},
                modules=app.modules,
                lifespan=app.lifespan,
            ),
            by=by,
            workspace=workspace,
        )
        self.portal = TestPortal(self.awaiting.link.begin_anew)
        self.stage = Stage(app, self.awaiting.link, place)
        try:
            self.portal.call("open", self.stage.open())
        except BaseException:
            self.portal.close()
            raise

    @property
    def database_url(self) -> str:
        """The address of its database. An application's own tables may live there too."""
        return self.stage.place.url

    @property
    def now(self) -> datetime:
        """The time of the engine.

        Set forward, it is as if no worker had been there meanwhile: what is due then comes with
        the next work, and schedules make up for what they missed as their ``catchup`` says. Set
        back, schedules count from there. A program's schedules begin when it is first worked for,
        or when their job is first started.
        """
        return self.portal.call("now", self.stage.clock.now())

    @now.setter
    def now(self, to: datetime) -> None:
        self.portal.call("now", self.stage.jump(aware(to)))

    def advance(self, duration: Duration) -> list[Run[Any]]:
        """Let time pass, and do all that falls due on the way, each at its own moment.

        Returns the runs with which something happened, as they stand now: those carried out in
        their order, then those started or ended without a body. What happens with a step happens
        with its workflow's run.
        """
        length = seconds(duration)
        return self.portal.call("advance", self.stage.advance(length))

    def drain(self) -> list[Run[Any]]:
        """Work until nothing is ready; no time passes. Returns the same as ``advance``."""
        return self.portal.call("drain", self.stage.drain())

    def run(self, job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """Start a run and ``drain``; returns the run as it stands then."""
        started = self.start(job, *args, **kwargs)
        self.drain()
        return self.get(started)

    def fast_forward(self, run: Run[R] | int | str) -> Run[R]:
        """Let time pass until a run has ended, from one due moment to the next.

        Raises ``TimeoutError`` with the reason when it never would.
        """
        return self.wait(run)

    @override
    def wait(self, run: Run[R] | int | str, timeout: Duration | None = None) -> Run[R]:
        """As ``fast_forward``, for at most ``timeout`` of the clock's time."""
        run_id = self.get(run).id
        limit = None if timeout is None else seconds(timeout, name="timeout")
        self.portal.call("wait", self.stage.until_ended(run_id, limit))
        return self.get(run_id)

    @override
    def result(self, run: Run[R], timeout: Duration | None = None) -> R:
        """The result of a run, typed, once it has ended; time passes as in ``wait``."""
        return self.awaiting.typed(self.wait(run, timeout))

    @override
    def cancel(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        """As ``Client.cancel``; a body that runs is told at once, one of a step or a child too."""
        found = super().cancel(run, reason=reason)
        self.portal.call("cancel", self.stage.worker.beat())
        return found

    @override
    def move(
        self, transition: Transition, key: Any, /, *, reason: str = "", **args: Any
    ) -> Run[Any] | None:
        """As ``Client.move``; a body that is superseded is told at once."""
        found = super().move(transition, key, reason=reason, **args)
        self.portal.call("move", self.stage.worker.beat())
        return found

    def states(self, run: Run[Any] | int | str, step: str = "") -> dict[str, str]:
        """How the steps of a workflow's run stand, by name, in the order of declaration.

        Then those that undo something, ``undo publish``, in their order. ``blocked``: it has not
        begun, since the steps before it have not ended as it needs. With ``step`` the items of
        that step: ``table[0]`` and so on.
        """
        found = self.get(run)
        views = self.awaiting.link.views
        return self.portal.call("states", looks.states(views, found, step))

    def attempts(self, run: Run[Any] | int | str, step: str = "") -> int:
        """How many attempts a run has spent, or a step of it; snoozes and lost workers spend none.

        A step of a workflow is named as in ``states``, one of a step's items ``table[0]``.
        """
        found = self.get(run)
        if step:
            views = self.awaiting.link.views
            found = self.get(self.portal.call("attempts", steps.step_id(views, found, step)))
        return found.attempt

    def started(self, job: Job[..., R], /, **args: Any) -> list[Run[R]]:
        """The runs of a job whose arguments are these, whatever the others are; oldest first.

        Runs that others have started are among them.

        Raises ``TypeError`` for an argument that the job does not have.
        """
        known = job.body.argument_names
        for name in args:
            if known is not None and name not in known:
                raise TypeError(f"{job.name} has no argument {name!r}.{did_you_mean(name, known)}")
        link, workspace = self.awaiting.link, self.awaiting.workspace
        all_of = looks.all_of(link.views, job.name, workspace=workspace, limit=MOST)
        found = self.portal.call("started", all_of)
        return [run for run in found if fits(job, run, args)]

    def ticks(self, job: Job[..., Any] | str) -> list[TickRow]:
        """What became of the due times of a job's schedules, skipped ones included; oldest first.

        Raises ``NotFound`` for a job that was not worked for yet.
        """
        name = job.name if isinstance(job, Job) else job
        found = of_job(
            self.awaiting.link.views, name, workspace=self.awaiting.workspace, limit=MOST
        )
        return self.portal.call("ticks", found)[::-1]

    def failing(self, role: Role, error: Raisable, times: int = 1) -> None:
        """Let the next bodies of ``role`` raise ``error``, an exception or an outcome.

        ``role`` is a job, a step of a workflow, or its name: ``"nightly.table"``, or ``"table"``
        when there is no other. Any other name is that of a ``ctx.step``, or of a ``ctx.map``, whose
        next items are meant then, or of one item: ``"create[2]"``.
        Raises ``NotFound`` for a name that is almost one of a job or a step.
        """
        self.stage.cast.failing(role, error, times)

    def replacing(self, role: Role, fn: Callable[..., Any], times: int | None = None) -> None:
        """Carry out ``fn`` in place of the body of ``role``, ``times`` times or from now on.

        ``role`` is as in ``failing``. ``fn`` gets those of the arguments that it asks for by name;
        its first parameter that is none of them gets the context. In place of the function of a
        ``ctx.step`` it is called as that would be. It may be a ``def``, an ``async def`` or a mock.
        """
        self.stage.cast.replacing(role, fn, times)

    def kill_worker(self) -> None:
        """Let the worker vanish, as by ``kill -9``; another takes its place.

        Called in a body it leaves that body on the spot, for good. The run stays running under
        the dead worker until its lease is over; then it is rescued.
        """
        self.stage.worker.kill()

    @override
    def close(self) -> None:
        """Drop the database."""
        if self.portal.open:
            try:
                self.portal.call("close", self.stage.close())
            finally:
                self.portal.close()


def fits(job: Job[..., Any], run: Run[Any], args: Mapping[str, Any]) -> bool:
    """Whether a run has these arguments, compared as its body gets them or as they are stored."""
    typed = getattr(job.body, "arguments", dict)(run.args) if args else {}
    return all(value in (typed.get(name), run.args.get(name)) for name, value in args.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """An app on another database than its own."""

    name: str
    registry: Registry
    settings: Mapping[str, Any]
    modules: Sequence[str]
    lifespan: Lifespan | None


class TestPortal(Portal):
    """The loop of the worker and of the client's own verbs."""

    @override
    def call(self, verb: str, work: Coroutine[Any, Any, T]) -> T:
        """As ``Portal.call``."""
        if inside_a_loop():
            work.close()
            raise TypeError(
                f"TestClient.{verb} would block this event loop. Call it in a thread: "
                "await asyncio.to_thread(…)."
            )
        return super().call(verb, work)


def inside_a_loop() -> bool:
    """Whether an event loop goes in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
