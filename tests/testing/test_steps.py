"""Steps in tests: how they stand, who plays them, and time that goes from wake to wake."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

import koken
from koken import App, AsyncContext, Context
from koken.errors import NotFound
from tests.testing.conftest import Hire

app = App("steps")
carried: list[str] = []


@app.workflow(max_attempts=3, backoff="1m")
def nightly(day: str) -> None: ...


@nightly.step
def files(day: str) -> list[str]:
    carried.append(f"files {day}")
    return ["a", "b", "c"]


@nightly.step(each={"file": files})
def table(file: str) -> str:
    carried.append(f"table {file}")
    return file.upper()


@nightly.step
def publish(ctx: Context, table: list[str]) -> str:
    carried.append(f"publish {table}")
    return f"{ctx.job} {','.join(table)}"


@publish.compensate
def unpublish(publish: str) -> None:
    carried.append(f"unpublish {publish}")


@app.job
def announce(publish: str) -> None:
    carried.append(f"announce {publish}")


nightly.step(announce)


@app.workflow
def weekly() -> None: ...


@weekly.step(name="files")
def other_files() -> int:
    return 7


def read(name: str) -> str:
    carried.append(f"read {name}")
    return name


async def write(name: str) -> int:
    carried.append(f"write {name}")
    return len(name)


@app.job(max_attempts=3, backoff="1h")
async def durable(ctx: AsyncContext, names: list[str]) -> list[Any]:
    texts = await ctx.map("read", read, names)
    await ctx.sleep("1d")
    return [texts, await ctx.step("write a file", write, "abc")]


@pytest.fixture(autouse=True)
def nothing_carried() -> None:
    carried.clear()


def test_states_and_attempts(client_of: Hire) -> None:
    client = client_of(app)
    client.failing(publish, OSError("reset"))
    run = client.start(nightly, "Mon")
    assert set(client.states(run).values()) == {"blocked"}
    client.drain()
    assert client.states(run) == {
        "files": "succeeded",
        "table": "succeeded",
        "publish": "waiting",
        "announce": "blocked",
    }
    assert client.states(run, "table") == {
        "table[0]": "succeeded",
        "table[1]": "succeeded",
        "table[2]": "succeeded",
    }
    client.fast_forward(run)
    assert (client.attempts(run), client.attempts(run, "publish")) == (1, 2)
    assert client.attempts(run, "table[2]") == 1
    with pytest.raises(NotFound, match="no step 'tables'"):
        client.attempts(run, "tables")


def test_undo_steps_come_after_the_others(client_of: Hire) -> None:
    client = client_of(app)
    client.failing(announce, koken.Fail("nobody listens"))
    run = client.run(nightly, "Mon")
    assert (run.state, list(client.states(run).items())[-2:]) == (
        "failed",
        [("announce", "failed"), ("undo publish", "succeeded")],
    )


@pytest.mark.parametrize("role", ["publish", "nightly.publish", publish, publish.job])
def test_a_step_is_named_in_many_ways(client_of: Hire, role: Any) -> None:
    client = client_of(app)
    client.replacing(role, lambda ctx, table: f"{len(table)} tables of {ctx.job}")
    run = client.run(nightly, "Mon")
    assert carried == [
        "files Mon",
        "table a",
        "table b",
        "table c",
        "announce 3 tables of nightly",
    ]
    assert run.state == "succeeded"


def test_each_item_counts_as_one_time(client_of: Hire) -> None:
    client = client_of(app)
    client.failing("table", OSError("reset"), times=2)
    client.replacing("table", lambda file: f"fake {file}", times=3)
    run = client.fast_forward(client.start(nightly, "Mon"))
    assert [client.attempts(run, f"table[{n}]") for n in range(3)] == [2, 2, 1]
    assert carried[1] == "publish ['fake a', 'fake b', 'fake c']"


def test_a_step_that_is_a_job_means_the_job(client_of: Hire) -> None:
    client = client_of(app)
    mock = Mock(return_value=None)
    client.replacing(nightly.steps["announce"], mock)
    client.run(nightly, "Mon")
    assert mock.call_args.kwargs == {"publish": "nightly A,B,C"}
    client.run(announce, "by hand")
    assert mock.call_count == 2


def test_what_undoes_a_step(client_of: Hire) -> None:
    client = client_of(app)
    client.failing(announce, koken.Fail("nobody listens"))
    client.replacing("nightly.publish.undo", lambda publish: carried.append("instead"))
    client.run(nightly, "Mon")
    assert carried[-1] == "instead"


def test_a_workflow_as_a_whole(client_of: Hire) -> None:
    client = client_of(app)
    client.replacing(nightly, lambda day: f"all of {day}", times=1)
    run = client.run(nightly, "Mon")
    assert (run.state, run.result, carried) == ("succeeded", "all of Mon", [])
    client.failing(nightly, koken.Fail("not today"))
    assert client.run(nightly, "Tue").reason == "not today"
    assert client.run(nightly, "Wed").state == "succeeded"
    assert carried[0] == "files Wed"


def test_names_that_mean_nothing_or_too_much(client_of: Hire) -> None:
    client = client_of(app)
    with pytest.raises(NotFound, match=r"several steps 'files': nightly\.files, weekly\.files"):
        client.failing("files", OSError())
    with pytest.raises(NotFound, match=r"no job or step 'publsh'\. Did you mean publish"):
        client.replacing("publsh", lambda: None)
    stray = App("stray").workflow("stray")
    with pytest.raises(NotFound):
        client.failing(stray.step(lambda: 1, name="stray"), OSError())


def test_steps_of_a_context(client_of: Hire) -> None:
    client = client_of(app)
    client.failing("read", OSError("reset"))
    client.failing("read[1]", OSError("reset"))
    client.replacing("write a file", lambda name: -1)
    began = client.now
    run = client.start(durable, ["x", "y", "z"])
    client.drain()
    assert sorted(carried) == ["read z"]
    run = client.fast_forward(run)
    assert (run.state, run.result, client.attempts(run)) == ("succeeded", [["x", "y", "z"], -1], 2)
    assert sorted(carried) == ["read x", "read y", "read z"]
    assert client.now - began == timedelta(hours=25)


@pytest.mark.parametrize("fn", [Mock(return_value=5), AsyncMock(return_value=5)])
def test_mocks_are_called_as_the_function_is(client_of: Hire, fn: Any) -> None:
    client = client_of(app)
    client.replacing("write a file", fn)
    run = client.fast_forward(client.start(durable, []))
    assert (run.result, fn.call_args.args) == ([[], 5], ("abc",))


def test_a_result_in_place_is_kept_like_any(client_of: Hire) -> None:
    client = client_of(app)
    client.replacing("read[0]", lambda name: "once", times=1)
    client.failing("write a file", OSError("reset"), times=2)
    run = client.fast_forward(client.start(durable, ["x", "y"]))
    assert (run.result, client.attempts(run)) == ([["once", "y"], 3], 3)
    assert carried == ["read y", "write abc"]


def test_a_worker_killed_within_a_step(client_of: Hire) -> None:
    client = client_of(app)
    client.replacing("write a file", lambda name: client.kill_worker(), times=1)
    run = client.fast_forward(client.start(durable, ["x"]))
    assert (run.state, run.attempt, run.infra_attempt) == ("succeeded", 1, 1)
    assert carried == ["read x", "write abc"]


def test_advance_tells_of_whole_runs(client_of: Hire) -> None:
    client = client_of(app)
    client.failing(publish, OSError("reset"))
    client.start(nightly, "Mon")
    assert [run.job for run in client.drain()] == ["nightly"]
    assert client.advance(59) == []
    assert [(run.job, run.state) for run in client.advance(1)] == [
        ("nightly", "succeeded"),
        ("announce", "succeeded"),
    ]


def test_started_finds_children(client_of: Hire) -> None:
    client = client_of(app)
    run = client.run(nightly, "Mon")
    (child,) = client.started(announce, publish="nightly A,B,C")
    assert (child.state, child.root_id) == ("succeeded", run.id)
    assert client.using(workspace="acme").started(announce) == []


def test_signals_and_answers(client_of: Hire) -> None:
    waits = App("waits")

    @waits.job
    def both(ctx: Context) -> list[Any]:
        return [ctx.wait_signal("go", int), ctx.ask("Really?", bool, timeout="1h")]

    client = client_of(waits)
    run = client.run(both)
    with pytest.raises(TimeoutError, match="nothing more falls due"):
        client.fast_forward(run)
    client.signal(run, "go", 7)
    client.drain()
    client.answer(run, "Really?", True)
    assert client.result(run) == [7, True]
    late = client.run(both)
    client.signal(late, "go", 8)
    assert client.fast_forward(late).reason.startswith("TimeoutError: nobody answered 'Really?'")


apart = App("apart")


def home() -> str:
    return "the real one"


@apart.job(executor="process")
def far(ctx: Context) -> str:
    return ctx.step("home", home)


def test_steps_of_bodies_in_processes(client_of: Hire) -> None:
    client = client_of(apart)
    client.replacing("home", lambda: "a fake", times=1)
    assert [client.run(far).result for _ in range(2)] == ["a fake", "the real one"]
