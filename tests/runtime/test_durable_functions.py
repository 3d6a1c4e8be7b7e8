"""Durable functions whole: left, woken, entered again, by a worker on a real database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import asyncpg
import django
import psycopg
import pytest
import sqlalchemy
import sqlalchemy.orm
from django.conf import settings
from django.db.utils import ConnectionHandler
from pydantic import BaseModel, field_validator
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import koken
from koken import Accept, AsyncContext, Context, Operation, Snooze
from koken.errors import InvalidArguments, NotFound, Refused, RunFailed
from koken.testing import TestClient

app = koken.App("durable")
calls: list[Any] = []
refusals: list[Exception] = []
INSERT = "insert into mine (key) values ('{}')"


class Elsewhere(Operation[int, str, int]):
    every = "5m"

    def submit(self, item: int, key: str) -> str:
        calls.append(("submit", item, key))
        return f"h{item}"

    def poll(self, item: int, handle: str) -> int | Snooze:
        calls.append(("poll", item))
        return item * 10 if calls.count(("poll", item)) == 3 else Snooze()

    def cancel(self, item: int, handle: str) -> None:
        calls.append(("cancel", handle))


def note(what: Any) -> Any:
    calls.append(what)
    return what


def fail() -> None:
    calls.append("fail")
    raise OSError("no space left")


@app.job()
def kid(n: int) -> int:
    return int(note(n)) * 2


@app.job(max_attempts=2, backoff="1m")
def bad_kid() -> None:
    fail()


@app.job()
async def everything(ctx: AsyncContext, n: int) -> list[Any]:
    first = await ctx.step("first", note, "first")
    await ctx.sleep("12h")
    made = await ctx.step("kid", kid, n)
    word = await ctx.wait_signal("go", str)
    fine = await ctx.ask("Fine?", bool, to="anna")
    kids = await ctx.map("kids", kid, [1, 2, 3], at_once=2)
    elsewhere = await ctx.map("elsewhere", Elsewhere(), [4, 5])
    return [first, made, word, fine, kids, elsewhere]


@app.job()
def everything_in_a_thread(ctx: Context, n: int) -> list[Any]:
    first = ctx.step("first", note, "first")
    ctx.sleep("12h")
    made = ctx.step("kid", kid, n)
    word = ctx.wait_signal("go", str)
    fine = ctx.ask("Fine?", bool, to="anna")
    kids = ctx.map("kids", kid, [1, 2, 3], at_once=2)
    elsewhere = ctx.map("elsewhere", Elsewhere(), [4, 5])
    return [first, made, word, fine, kids, elsewhere]


@app.job(max_attempts=2, backoff="1m")
async def with_a_bad_kid(ctx: AsyncContext) -> str:
    await ctx.step("before", note, "before")
    await ctx.step("kid", bad_kid)
    return "never"


@app.job(max_attempts=2, backoff="1m")
async def undone(ctx: AsyncContext) -> None:
    undo = ctx.using(compensate=undo_it)
    await undo.step("a", note, "a")
    await undo.map("m", note, ["m0", "m1"])
    await ctx.step("last", fail)


@app.job()
async def in_flight(ctx: AsyncContext) -> None:
    await ctx.using(compensate=undo_it).step("a", note, "a")
    await ctx.map("elsewhere", Elsewhere(), [4, 5])


class Stubborn(Elsewhere):
    def cancel(self, item: int, handle: str) -> None:
        super().cancel(item, handle)
        if refusals:
            raise refusals.pop()


@app.job()
async def stubborn(ctx: AsyncContext) -> None:
    await ctx.step("elsewhere", Stubborn(), 4)


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number


@app.job()
def asks_even(ctx: Context) -> int:
    return ctx.ask("How many?", Even).number


def undo_it(what: str) -> None:
    calls.append(f"undo {what}")


@app.job()
async def leaves_a_child(ctx: AsyncContext) -> int:
    return (await ctx.start(kid, 7)).id


@app.job()
def asks_twice(ctx: Context) -> int:
    return ctx.ask("How many?", int) + ctx.ask("And then?", int)


@app.job(max_attempts=2)
def sums(ctx: Context) -> int:
    return ctx.wait_signal("paid", int) + ctx.wait_signal("paid", int)


@app.job()
async def asks_the_same(ctx: AsyncContext) -> list[int]:
    return list(await asyncio.gather(ctx.ask("Same?", int), ctx.ask("Same?", int)))


class Known(Elsewhere):
    def find(self, item: int, key: str) -> str:
        return f"known {item}"


@app.job()
async def finds(ctx: AsyncContext) -> None:
    await ctx.step("elsewhere", Known(), 4)


@pytest.fixture
def client(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", postgres_url)
    calls.clear()
    refusals.clear()
    with TestClient(app) as client:
        yield client


@pytest.mark.parametrize("job", [everything, everything_in_a_thread], ids=lambda job: job.name)
def test_everything(client: TestClient, job: Any) -> None:
    run = client.start(job, 21)
    with pytest.raises(TimeoutError, match="it awaits the signal go"):
        client.fast_forward(run)
    client.signal(run, "go", "now")
    client.drain()
    (question,) = client.questions(run)
    assert (question.text, question.to) == ("Fine?", "anna")
    client.answer(run, "Fine?", True)
    ended = client.fast_forward(run)

    assert ended.state == "succeeded"
    assert ended.result == ["first", 42, "now", True, [2, 4, 6], [40, 50]]
    assert ended.attempt == 1
    for once in ("first", 21, 1, 2, 3):
        assert calls.count(once) == 1
    submitted = [call[1] for call in calls if isinstance(call, tuple) and call[0] == "submit"]
    assert sorted(submitted) == [4, 5]


def test_a_childs_failure_is_tried_again_with_its_parent(client: TestClient) -> None:
    run = client.start(with_a_bad_kid)
    ended = client.fast_forward(run)
    assert ended.state == "failed"
    assert ended.error is not None
    assert ended.error.type == "RunFailed"
    assert calls == ["before", "fail", "fail", "fail", "fail"]
    with pytest.raises(RunFailed):
        client.result(ended)


def test_undo_after_the_last_attempt(client: TestClient) -> None:
    run = client.start(undone)
    assert client.fast_forward(run).state == "failed"
    assert calls == ["a", "m0", "m1", "fail", "fail", "undo m1", "undo m0", "undo a"]


def test_cancel_ends_what_is_in_flight_and_undoes(client: TestClient) -> None:
    run = client.start(in_flight)
    client.drain()
    assert client.get(run).state == "waiting"
    client.cancel(run, reason="wrong market")
    assert client.fast_forward(run).state == "cancelled"
    assert [call for call in calls if call[0] in ("cancel", "u") or call == "undo a"] == [
        ("cancel", "h5"),
        ("cancel", "h4"),
        "undo a",
    ]
    assert ledger(client, run) == [("elsewhere", 0, "cancelled"), ("elsewhere", 1, "cancelled")]


def test_a_cancel_elsewhere_that_fails_is_tried_again(client: TestClient) -> None:
    run = client.start(stubborn)
    client.drain()
    refusals.extend([OSError("reset"), OSError("reset")])
    client.cancel(run)
    assert client.fast_forward(run).state == "cancelled"
    assert [call for call in calls if call[0] == "cancel"] == [("cancel", "h4")] * 3
    assert ledger(client, run) == [("elsewhere", 0, "cancelled")]


def test_a_cancel_elsewhere_that_fails_for_good_stays_open(client: TestClient) -> None:
    run = client.start(stubborn)
    client.drain()
    refusals.extend([OSError("reset")] * 3)
    client.cancel(run, reason="wrong market")
    assert client.fast_forward(run).state == "cancelled"
    assert undo_runs(client, run) == [("undo elsewhere", "failed", "reset", None)]
    assert ledger(client, run) == [("elsewhere", 0, "submitted")]


def test_cancel_ends_what_find_found(client: TestClient) -> None:
    run = client.start(finds)
    client.drain()
    client.cancel(run)
    assert client.fast_forward(run).state == "cancelled"
    assert [call for call in calls if call[0] in ("submit", "cancel")] == [("cancel", "known 4")]
    assert ledger(client, run) == [("elsewhere", 0, "cancelled")]


def test_signals_are_checked_at_the_door(client: TestClient) -> None:
    run = client.start(sums)
    client.signal(run, "paid", "early")
    client.drain()
    (line,) = client.logs(run)
    assert line.text == (
        "signal 'paid': 'early' is not a whole number. "
        "It is passed by, and the body goes on waiting"
    )
    with pytest.raises(InvalidArguments) as caught:
        client.signal(run, "paid", "xx")
    assert str(caught.value) == "signal 'paid': the value must be integer. Nothing was sent."
    client.signal(run, "other", "xx")
    client.signal(run, "paid", 3)
    client.drain()
    client.signal(run, "paid", 4)
    assert client.fast_forward(run).result == 7
    told = rows(client, "select id, value, refused from koken.signal where name = %s", "paid")
    assert [row[1:] for row in told] == [
        ("early", "signal 'paid': 'early' is not a whole number."), (3, None), (4, None),
    ]  # fmt: skip


def test_questions_of_one_text_are_answered_by_their_keys(client: TestClient) -> None:
    run = client.start(asks_the_same)
    client.drain()
    first, second = client.questions(run)
    with pytest.raises(NotFound, match=f"koken answer {run.id} VALUE --question KEY"):
        client.answer(run, "Same?", 1)
    client.answer(run, second.key, 2)
    client.answer(run, first.key, 1)
    assert client.fast_forward(run).result == [1, 2]


def ledger(client: TestClient, run: Any) -> list[Any]:
    return rows(client, "select key, no, state from koken.ledger where run_id = %s", run.id)


def undo_runs(client: TestClient, run: Any) -> list[Any]:
    text = "select step, state, error ->> 'message', acknowledged_at from koken.run"
    return rows(client, f"{text} where parent_id = %s and undoes_id is not null", run.id)


def rows(client: TestClient, text: str, *args: Any) -> list[Any]:
    with psycopg.connect(client.awaiting.link.config.database_url) as connection:
        return connection.execute(f"{text} order by 1, 2", args).fetchall()


def test_an_answer_that_is_none_of_its_type_is_asked_for_again(client: TestClient) -> None:
    run = client.start(asks_even)
    client.drain()
    client.answer(run, "How many?", {"number": 3})
    client.drain()
    (again,) = client.questions(run)
    assert (again.text, again.reason) == (
        "How many?", "answer to 'How many?'(number): 3: Value error, 3 is odd.",
    )  # fmt: skip
    assert client.why(run).causes[0].text == f"it asks: How many? (again: {again.reason})"
    client.answer(run, "How many?", {"number": 4})
    assert client.fast_forward(run).result == 4


def test_a_worker_killed_while_it_waits(client: TestClient) -> None:
    run = client.start(in_flight)
    client.drain()
    submitted = [call for call in calls if call[0] == "submit"]
    client.kill_worker()
    assert client.fast_forward(run).state == "succeeded"
    assert [call for call in calls if call[0] == "submit"] == submitted


def test_a_child_that_nobody_waits_for(client: TestClient) -> None:
    run = client.start(leaves_a_child)
    ended = client.fast_forward(run)
    assert client.get(ended.result).state == "succeeded"
    assert client.get(ended.result).parent_id == run.id


def test_answers_are_checked_at_the_door(client: TestClient) -> None:
    run = client.start(asks_twice)
    client.drain()
    with pytest.raises(InvalidArguments) as caught:
        client.answer(run, "How many?", "many")
    assert str(caught.value) == (
        "answer to 'How many?': the value must be integer. Nothing was sent."
    )
    with pytest.raises(NotFound, match=r"does not ask 'How mny\?'. Did you mean How many\?"):
        client.answer(run, "How mny?", 1)
    client.answer(run, "", 3)
    with pytest.raises(NotFound, match="asks nothing"):
        client.answer(run, "How many?", 3)
    client.drain()
    client.answer(run, "And then?", 4)
    assert client.fast_forward(run).result == 7
    with pytest.raises(Refused, match="has ended"):
        client.signal(run, "go")


def test_accepted_misses(client: TestClient) -> None:
    other = koken.App("misses")

    @other.job()
    def misses(ctx: Context) -> list[int]:
        found = ctx.map("odd", odd, [1, 2, 3], accept=Accept(0.6))
        ctx.sleep(60)
        return found

    with TestClient(other) as mine:
        assert mine.fast_forward(mine.start(misses)).result == [1, 3]
    assert calls == [1, 2, 3]


def odd(item: int) -> int:
    calls.append(item)
    if item % 2 == 0:
        raise ValueError(f"{item} is even")
    return item


# --- in the user's own transaction --------------------------------------------------------------


async def over_asyncpg(ctx: AsyncContext, url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await ctx.using(connection).step("write", connection.execute, INSERT.format("a"))
    finally:
        await connection.close()


async def over_async_psycopg(ctx: AsyncContext, url: str) -> None:
    async def write() -> None:
        await connection.execute(INSERT.format("a"))

    async with await psycopg.AsyncConnection.connect(url) as connection:
        await ctx.using(connection).step("write", write)


async def over_async_sqlalchemy(ctx: AsyncContext, url: str) -> None:
    async def write() -> None:
        await session.execute(sqlalchemy.text(INSERT.format("a")))

    engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
    try:
        async with AsyncSession(engine) as session, session.begin():
            await ctx.using(session).step("write", write)
    finally:
        await engine.dispose()


def over_psycopg(ctx: Context, url: str) -> None:
    def write() -> None:
        connection.execute(INSERT.format("a"))

    with psycopg.connect(url) as connection:
        ctx.using(connection).step("write", write)


def over_sqlalchemy(ctx: Context, url: str) -> None:
    def write() -> None:
        session.execute(sqlalchemy.text(INSERT.format("a")))

    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with sqlalchemy.orm.Session(engine) as session, session.begin():
            ctx.using(session).step("write", write)
    finally:
        engine.dispose()


def over_django(ctx: Context, url: str) -> None:
    if not settings.configured:
        settings.configure(USE_TZ=True)
        django.setup()
    parts = sqlalchemy.make_url(url)
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": parts.host,
        "PORT": parts.port,
        "USER": parts.username,
        "NAME": parts.database,
    }
    connection = ConnectionHandler({"default": database})["default"]

    def write() -> None:
        with connection.cursor() as cursor:
            cursor.execute(INSERT.format("a"))

    connection.set_autocommit(False)
    try:
        ctx.using(connection).step("write", write)
        connection.commit()
    finally:
        connection.close()


WAYS = [
    over_asyncpg,
    over_async_psycopg,
    over_async_sqlalchemy,
    over_psycopg,
    over_sqlalchemy,
    over_django,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("lost", [False, True], ids=["held", "lost"])
def test_a_step_in_the_users_own_transaction(
    postgres_url: str, way: Any, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their write and the checkpoint commit together, or neither does."""
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", postgres_url)
    mine = koken.App("mine")
    entered: list[int] = []

    def before(ctx: Any) -> None:
        entered.append(1)
        if lost and len(entered) == 1:  # somebody else holds the run now
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(
                    "update koken.run set lease = lease + 1 where id = %s", (ctx.run_id,)
                )

    if way in WAYS[:3]:

        @mine.job(name="writes", max_attempts=2, backoff=0)
        async def writes_async(ctx: AsyncContext) -> None:
            before(ctx)
            await way(ctx, url)
            if len(entered) == 1:
                raise OSError("after the commit")

        job: Any = writes_async
    else:

        @mine.job(name="writes", max_attempts=2, backoff=0)
        def writes(ctx: Context) -> None:
            before(ctx)
            way(ctx, url)
            if len(entered) == 1:
                raise OSError("after the commit")

        job = writes
    with TestClient(mine) as mine_client:
        url = mine_client.awaiting.link.config.database_url
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("create table mine (key text)")
        run = mine_client.start(job)
        if lost:
            mine_client.drain()
        else:
            assert mine_client.fast_forward(run).state == "succeeded"
            assert len(entered) == 2
        with psycopg.connect(url) as connection:
            rows = connection.execute("select key from mine").fetchall()
            kept = connection.execute(
                "select key, value, ordinal from koken.checkpoint where run_id = %s", (run.id,)
            ).fetchall()
    assert rows == ([] if lost else [("a",)])
    assert [row[0] for row in kept] == ([] if lost else ["step:write"])


def test_other_steps_get_through_while_a_transaction_is_open(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body's own transaction holds its run; what is recorded beside it must not wait for it."""
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", postgres_url)
    calls.clear()
    mine = koken.App("open")

    @mine.job()
    def writes(ctx: Context, url: str) -> None:
        undo = ctx.using(compensate=undo_it)
        with psycopg.connect(url) as connection:
            undo.using(connection).step("a", note, "a")
            ctx.progress(50)
            undo.step("b", note, "b")
            ctx.step("c", Elsewhere(), 1)

    with TestClient(mine) as client:
        url = client.awaiting.link.config.database_url
        run = client.start(writes, url)
        client.drain()
        assert client.get(run).wait is not None  # left: so the block was rolled back
        with psycopg.connect(url) as connection:
            kept = connection.execute("select key from koken.checkpoint order by key").fetchall()
    assert kept == [("operation:c",), ("step:b",)]


def test_a_step_in_a_transaction_is_undone(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", postgres_url)
    calls.clear()
    mine = koken.App("undo")

    @mine.job()
    def writes(ctx: Context, url: str) -> None:
        with psycopg.connect(url) as connection:
            ctx.using(connection, compensate=undo_it).step("a", note, "a")
        ctx.step("b", fail)

    with TestClient(mine) as client:
        run = client.start(writes, client.awaiting.link.config.database_url)
        assert client.fast_forward(run).state == "failed"
    assert calls == ["a", "fail", "undo a"]
