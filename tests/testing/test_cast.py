from __future__ import annotations

from datetime import date
from unittest.mock import AsyncMock, Mock

import pytest

from koken import App, AsyncContext, Context, Fail, Skip
from koken.errors import NotFound
from koken.executors import Command
from tests.testing.conftest import Hire

app = App("cast")
carried: list[str] = []


@app.job(max_attempts=5, backoff="1m")
def charge(ctx: Context, order: int, day: date | None = None) -> str:
    carried.append(f"charged {order}")
    return f"{ctx.job} {order} {day}"


@app.job
async def notify(ctx: AsyncContext, order: int) -> str:
    return f"told of {order}"


shell = app.job(Command("false"), name="shell")


@pytest.fixture(autouse=True)
def nothing_carried() -> None:
    carried.clear()


def test_failing_for_so_many_times(client_of: Hire) -> None:
    client = client_of(app)
    client.failing(charge, ConnectionError("reset"), times=2)
    run = client.run(charge, 7)
    assert (run.state, run.reason, carried) == ("waiting", "ConnectionError: reset", [])
    run = client.fast_forward(run)
    assert (run.state, run.result, run.attempt) == ("succeeded", "charge 7 None", 3)
    assert carried == ["charged 7"]


def test_failing_by_name_with_a_class_and_with_outcomes(client_of: Hire) -> None:
    client = client_of(app)
    client.failing("charge", TimeoutError)
    client.failing("charge", Fail("never"))
    client.failing("notify", Skip("nobody there"))
    assert client.fast_forward(client.start(charge, 1)).state == "failed"
    assert client.attempts("charge") == 2
    assert client.run(notify, 1).state == "skipped"
    assert client.run(notify, 1).state == "succeeded"


def test_what_cannot_be_is_refused(client_of: Hire) -> None:
    client = client_of(app)
    with pytest.raises(NotFound, match="Did you mean charge"):
        client.failing("charg", OSError())
    with pytest.raises(NotFound):
        client.replacing("charg", lambda: None)
    with pytest.raises(TypeError, match="no exception"):
        client.failing(charge, "reset")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="counts from 1"):
        client.failing(charge, OSError(), times=0)


@pytest.mark.parametrize(
    ("fn", "result"),
    [
        (lambda: "nothing asked", "nothing asked"),
        (lambda order: f"order {order}", "order 7"),
        (lambda ctx: f"run of {ctx.job}", "run of charge"),
        (lambda ctx, day: f"{ctx.attempt} on {day:%d %b}", "1 on 06 Mar"),
        (lambda ctx, *, day, **rest: f"{day.year} {rest}", "2026 {'order': 7}"),
        (lambda *seen, **rest: f"{len(seen)} {sorted(rest)}", "1 ['day', 'order']"),
        (Mock(return_value="mocked"), "mocked"),
        (AsyncMock(return_value="mocked too"), "mocked too"),
    ],
)
def test_replacement_gets_what_it_asks_for(client_of: Hire, fn: object, result: str) -> None:
    client = client_of(app)
    client.replacing(charge, fn)  # type: ignore[arg-type]
    run = client.run(charge, 7, date(2026, 3, 6))
    assert (run.state, run.result, carried) == ("succeeded", result, [])


def test_mock_is_called_as_the_body_is(client_of: Hire) -> None:
    client = client_of(app)
    mock = Mock(return_value="x")
    client.replacing(charge, mock)
    client.run(charge, 7)
    ((ctx,), arguments) = mock.call_args
    assert isinstance(ctx, Context)
    assert arguments == {"order": 7, "day": None}


def test_replacing_for_a_while_and_back(client_of: Hire) -> None:
    client = client_of(app)
    client.replacing(notify, lambda order: "not told", times=2)
    results = [client.result(client.start(notify, n)) for n in range(3)]
    assert results == ["not told", "not told", "told of 2"]
    client.replacing(notify, lambda: "never")
    client.replacing(notify, notify.fn)
    assert client.result(client.start(notify, 3)) == "told of 3"


def test_errors_come_before_replacements(client_of: Hire) -> None:
    client = client_of(app)
    client.failing(charge, OSError("first"))
    client.replacing(charge, lambda: "second")
    run = client.fast_forward(client.start(charge, 1))
    assert (run.attempt, run.result) == (2, "second")


def test_replacements_obey_the_result_annotation(client_of: Hire) -> None:
    client = client_of(app)
    client.replacing(charge, lambda: object())
    assert client.run(charge, 1).state == "waiting"


def test_commands_can_be_replaced(client_of: Hire) -> None:
    client = client_of(app)
    assert client.run(shell).state == "failed"
    client.replacing(shell, lambda ctx: ctx.job)
    assert client.run(shell).result == "shell"


def test_each_client_has_its_own_cast(client_of: Hire) -> None:
    one, other = client_of(app), client_of(app)
    one.replacing(notify, lambda: "replaced")
    assert [client.run(notify, 1).result for client in (one, other)] == ["replaced", "told of 1"]
    assert len(one.find()) == len(other.find()) == 1
