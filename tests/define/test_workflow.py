"""Workflows as they are declared: steps, needs, defaults, undo."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from koken.app import App
from koken.define.job import Job
from koken.define.operation import Operation
from koken.define.workflow import Workflow
from koken.errors import DeclarationError
from koken.executors import Command
from koken.model.accept import Accept
from koken.model.policy import Backoff, Effect
from koken.model.steps import Each, Join, Need

app = App("nightly")


class Table(BaseModel):
    rows: int


@app.job
def publish_site(day: date, colour: str = "blue") -> str:
    return f"{day} {colour}"


@app.workflow(
    max_attempts=2,
    queue="night",
    backoff="5m",
    timeout="1h",
    never_retry=OSError,
    priority=7,
    max_infra_attempts=1,
    timezone="Europe/Berlin",
    fail_fast=True,
)
def nightly(day: date, limit: int = 5) -> None:
    """The night's figures."""


@nightly.step
def publish(crunch: int | None = None, add_up: int | None = None) -> str:
    """Out it goes."""
    return f"{crunch or add_up} rows"


@nightly.step(when={"size": "big"}, lock="cluster:{day}", effect="unsafe", max_attempts=1)
def crunch(table: list[Table]) -> int:
    return len(table)


@nightly.step(when={"size": "small"}, gate="30 16 * * *", window="22:00-06:00")
def add_up(table: list[Table]) -> int:
    return len(table)


@nightly.step
async def size(table: list[Table]) -> Literal["big", "small"]:
    return "big" if len(table) > 5 else "small"


@nightly.step
def files(day: date) -> list[Path]:
    return [Path(f"{day}.csv")]


@nightly.step(each={"file": files}, at_once=8, accept=Accept(0.95, of=20), lock="file:{file}")
def table(file: Path) -> Table:
    return Table(rows=len(str(file)))


site = nightly.step(publish_site, name="site", after=[publish, "files"])


@nightly.step(after="site", join="any_failed", queue="people")
def apologise() -> None: ...


@publish.compensate(max_attempts=5, backoff="10s")
def unpublish(publish: str, day: date) -> None: ...


def test_it_is_a_job() -> None:
    assert isinstance(nightly, Job)
    assert isinstance(nightly, Workflow)
    assert app.registry.get("nightly") is nightly
    spec = nightly.spec
    assert (spec.name, spec.description, spec.queue) == ("nightly", "The night's figures.", "night")
    assert (spec.argument_names, spec.fail_fast, spec.executor) == (("day", "limit"), True, "loop")
    assert nightly.body.bind((date(2026, 3, 6),), {}) == {"day": "2026-03-06"}
    assert (repr(nightly), repr(publish)) == ("Workflow('nightly')", "Step('nightly.publish')")


def test_steps_are_numbered_as_declared() -> None:
    assert [(step.no, step.name) for step in nightly.spec.steps] == [
        (1, "publish"),
        (2, "crunch"),
        (3, "add_up"),
        (4, "size"),
        (5, "files"),
        (6, "table"),
        (7, "site"),
        (8, "apologise"),
    ]
    assert list(nightly.steps) == [step.name for step in nightly.spec.steps]
    assert nightly.steps["table"] is table


def test_needs() -> None:
    found = {step.name: step.needs for step in nightly.spec.steps}
    assert found == {
        "publish": (Need("crunch", "crunch"), Need("add_up", "add_up")),
        "crunch": (Need("table", "table", hard=True), Need("size", None, hard=True)),
        "add_up": (Need("table", "table", hard=True), Need("size", None, hard=True)),
        "size": (Need("table", "table", hard=True),),
        "files": (),
        "table": (Need("files", None, hard=True),),
        "site": (Need("publish"), Need("files")),
        "apologise": (Need("site"),),
    }
    arguments = {step.name: step.arguments for step in nightly.spec.steps if step.arguments}
    assert arguments == {"files": ("day",), "site": ("day",)}


def test_options_of_steps() -> None:
    assert crunch.spec.when == 'size is "big"'
    assert crunch.spec.asks == ("size",)
    assert crunch.spec.lock is not None
    assert crunch.spec.lock.key == "cluster:{day}"
    assert add_up.spec.gate == "30 16 * * *"
    assert (add_up.spec.window, add_up.spec.window_missed) == ("22:00-06:00", "skip")
    assert table.spec.each == Each("file", "files", of_step=True)
    assert (table.spec.at_once, table.spec.accept) == (8, Accept(0.95, of=20))
    assert apologise.spec.join is Join.ANY_FAILED
    assert [step.executor for step in nightly.spec.steps[2:5]] == ["thread", "loop", "thread"]
    assert publish.spec.description == "Out it goes."


def test_the_workflow_gives_defaults() -> None:
    spec = files.spec
    assert (spec.queue, spec.priority, spec.max_attempts, spec.timeout) == ("night", 7, 2, 3600.0)
    assert spec.backoff == Backoff("fixed", base=300, jitter=0)
    assert spec.never_retry == ("builtins.OSError",)
    assert files.job.never_retry == (OSError,)
    assert spec.max_infra_attempts == 1
    assert (crunch.spec.effect, crunch.spec.max_infra_attempts) == (Effect.UNSAFE, 0)
    assert (crunch.spec.max_attempts, apologise.spec.queue) == (1, "people")


def test_a_job_as_a_step_keeps_its_own_rules() -> None:
    spec = site.spec
    assert (spec.kind, spec.job, site.target) == ("job", "publish_site", publish_site)
    assert (spec.queue, spec.priority, spec.max_attempts, spec.timeout) == ("night", 7, 1, None)
    assert site.job.name == "nightly.site"
    assert site.job.body.load("x") == "x"


def test_parts_of_the_registry() -> None:
    part = app.registry.part
    assert part("nightly", None, False) is nightly
    assert part("nightly", "table", False) is table.job
    assert part("nightly", "publish", True) is publish.undo
    assert part("nightly", "table", True) is None
    assert part("nightly", "gone", False) is None
    assert part("gone", None, False) is None
    assert part("publish_site", "table", False) is None


def test_undo() -> None:
    undo = publish.undo
    assert undo is not None
    assert (undo.name, undo.spec.max_attempts, undo.fn) == ("nightly.publish.undo", 5, unpublish)
    assert undo.spec.backoff == Backoff("fixed", base=10, jitter=0)
    assert (undo.spec.queue, undo.spec.timeout) == ("night", 3600.0)
    assert [step.name for step in nightly.spec.steps if step.compensates] == ["publish"]


def test_undo_as_an_option() -> None:
    flow = App().workflow("flow")

    def undo(make: int) -> None: ...

    step = flow.step(lambda: 1, name="make", compensate=undo)
    assert step.undo is not None
    assert step.undo.fn is undo
    assert flow.spec.steps[0].compensates


def test_a_step_keeps_its_function() -> None:
    assert publish.fn(crunch=3) == "3 rows"
    assert (publish.name, publish.target, publish.condition) == ("publish", None, None)
    assert crunch.condition == {"size": ("big",)}
    with pytest.raises(TypeError) as caught:
        publish(crunch=3)  # type: ignore[operator]  # the mistake
    assert str(caught.value) == (
        "publish is a step of nightly. client.start(nightly, …) starts the workflow; "
        "publish.fn(…) calls the function here and now."
    )
    with pytest.raises(TypeError) as caught:
        site.fn()
    assert str(caught.value) == "step 'nightly.site' is no function, so there is none to call"


def test_a_workflow_is_not_called() -> None:
    with pytest.raises(TypeError) as caught:
        nightly(date(2026, 3, 6))  # type: ignore[operator]  # the mistake
    assert str(caught.value) == (
        "nightly is a workflow. client.start(nightly, …) starts it; its own function is empty."
    )


def test_using_gives_a_copy_of_the_same_graph() -> None:
    later = nightly.using(delay="5m")
    assert isinstance(later, Workflow)
    assert (later.options.delay, later.steps) == (300.0, nightly.steps)
    assert later.spec == nightly.spec


def test_spec_follows_later_steps() -> None:
    flow = App().workflow("flow")
    flow.step(lambda: 1, name="one")
    before = flow.spec
    assert flow.spec is before
    flow.step(lambda: 2, name="two", after=["one"])
    assert [step.name for step in flow.spec.steps] == ["one", "two"]
    assert before.fingerprint() != flow.spec.fingerprint()


class Draft(Operation[str, str, int]):
    """Elsewhere."""

    def submit(self, item: str, key: str) -> str:
        return item

    def poll(self, item: str, handle: str) -> int:
        return 1


def test_bodies_and_operations() -> None:
    flow = App().workflow("flow", schedule="0 20 * * *")
    flow.step(Command("./list {logical_time}"), name="list")
    flow.step(Command("./load {name}"), name="load", inputs={"name": "list"})
    flow.step(Draft(), name="draft", each={"item": "list"})
    flow.step(Job("elsewhere"), inputs={"rows": "load"})
    found = [(step.name, step.kind, step.job, step.needs) for step in flow.spec.steps]
    assert found == [
        ("list", "command", None, ()),
        ("load", "command", None, (Need("list", "name", hard=True),)),
        ("draft", "operation", None, (Need("list", None, hard=True),)),
        ("elsewhere", "job", "elsewhere", (Need("load", "rows", hard=True),)),
    ]
    assert [step.executor for step in flow.spec.steps] == ["process", "process", "loop", "loop"]


def test_sub_workflow() -> None:
    flow = App().workflow("weekly")
    step = flow.step(nightly, name="night", inputs={"day": "pick"})
    flow.step(pick)
    assert (step.spec.kind, step.spec.job) == ("job", "nightly")
    assert step.job.spec.steps == ()


def pick() -> date:
    return date(2026, 3, 6)


def test_items_of_an_argument() -> None:
    one = App()

    @one.workflow
    def flow(names: list[str]) -> None: ...

    @flow.step(each={"name": "names"})
    def greet(name: str) -> str:
        return name

    assert greet.spec.each == Each("name", "names", of_step=False)
    assert (greet.spec.needs, greet.spec.arguments) == ((), ())


def test_predicate() -> None:
    flow = App().workflow("flow")

    def enough(count: int, floor: int = 3) -> bool:
        return count > floor

    flow.step(lambda: 5, name="count")
    flow.step(lambda: 5, name="floor")
    step = flow.step(lambda: 1, name="go", when=enough)
    assert step.spec.when == "enough"
    assert step.spec.needs == (Need("count", None, hard=True), Need("floor"))
    assert step.spec.asks == ("count", "floor")
    assert step.condition is enough


def test_join_with_a_condition() -> None:
    flow = App().workflow("flow")
    flow.step(lambda: "big", name="size")
    step = flow.step(lambda: 1, name="go", when={"size": "big"}, join="all_done")
    assert step.spec.needs == (Need("size"),)


@pytest.mark.parametrize("graph", ["wide", "deep"])
def test_ten_thousand_steps(graph: str) -> None:
    flow = App().workflow("flow")

    def work() -> None: ...

    for number in range(10_000):
        before = [f"s{number - 1}"] if graph == "deep" and number else []
        flow.step(work, name=f"s{number}", after=before)
    steps = flow.spec.steps
    assert len(steps) == 10_000
    assert steps[-1].edges == ({"s9998": False} if graph == "deep" else {})
    bodies: list[Any] = [step.job.body for step in flow.steps.values()]
    assert len({id(body.call.form) for body in bodies}) == 1


def test_registry_is_checked_when_the_program_is_loaded() -> None:
    other = App()
    flow = other.workflow("flow")
    flow.step(lambda: 1, name="one", after=["two"])
    with pytest.raises(DeclarationError) as caught:
        other.load()
    assert str(caught.value) == "flow.one: after names 'two', which is no step of flow."
    flow.step(lambda: 1, name="two")
    other.load()
