"""Moves of subjects: who may, from where, what starts, and what the end of that moves on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from datetime import date

import pytest
import pytest_asyncio

from koken import AsyncClient
from koken.engine import move, prune
from koken.errors import DeclarationError, InvalidArguments, NotFound, Overlapping, Refused
from koken.model.run import Run
from koken.model.states import State
from tests.support import experiments as dne
from tests.support.experiments import events, put, status
from tests.support.house import House


@pytest_asyncio.fixture
async def client(
    house: House, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncClient]:
    """A client of the program, whose table is there."""
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    async with house.db.session() as session:
        await session.execute(dne.TABLE)
    async with AsyncClient(dne.app, by="anna") as made:
        yield made


async def scheduled(client: AsyncClient, key: int = 1) -> Run[None]:
    """The run of a set-up under way."""
    run = await client.move(dne.schedule, key)
    assert run is not None
    return run


async def end(house: House, run_id: int, state: State) -> None:
    """Let a run that is ready run and end."""
    (run,) = [each for each in await house.claim() if each.id == run_id]
    error = '{"type": "E", "message": "no"}' if state is State.FAILED else None
    await house.finish(run, state, error=error)


async def test_state_job_and_record(house: House, client: AsyncClient) -> None:
    run = await client.move(dne.schedule, 1, note="as agreed", reason="spring")
    assert run is not None
    given = {"experiment_id": 1, "note": "as agreed"}
    assert (run.job, run.args, run.state) == ("set_up", given, "ready")
    assert (run.subject, run.trigger.kind, run.trigger.by) == ("experiment:1", "user", "anna")
    assert await status(house) == "TO_BE_SCHEDULED"
    assert await status(house, 2) == "DRAFT"
    (event,) = await events(house, "move")
    assert (event["by"], event["reason"], event["run_id"]) == ("anna", "spring", run.id)
    assert json.loads(event["detail"]) == {
        "machine": "experiment",
        "transition": "schedule",
        "subject": "1",
        "from": "DRAFT",
        "to": "TO_BE_SCHEDULED",
    }


async def test_a_move_without_a_job(house: House, client: AsyncClient) -> None:
    assert await client.move(dne.drop, 1) is None
    assert await status(house) == "CANCELLED"
    assert await house.value("select count(*) from koken.run") == 0
    assert [event["run_id"] for event in await events(house, "move")] == [None]


async def test_a_reason_goes_to_a_job_that_asks_for_it(house: House, client: AsyncClient) -> None:
    await put(house, "SCHEDULED")
    run = await client.move(dne.cancel, 1, reason="wrong market")
    assert run is not None
    assert run.args == {"number": 1, "reason": "wrong market"}
    assert [event["reason"] for event in await events(house, "move")] == ["wrong market"]


async def test_a_state_that_it_does_not_go_from(house: House, client: AsyncClient) -> None:
    await client.move(dne.drop, 1)
    with pytest.raises(Refused) as caught:
        await client.move(dne.schedule, 1, reason="once more")
    assert str(caught.value) == "'schedule' goes from DRAFT, experiment 1 is CANCELLED"
    assert caught.value.what == "experiment 1"
    assert await house.value("select count(*) from koken.run") == 0
    (event,) = await events(house, "move refused")
    assert event["by"] == "anna"
    assert event["reason"] == "'schedule' goes from DRAFT, experiment 1 is CANCELLED"
    assert json.loads(event["detail"]) == {
        "machine": "experiment",
        "transition": "schedule",
        "subject": "1",
        "from": "CANCELLED",
        "to": "TO_BE_SCHEDULED",
        "asked": "once more",
    }


async def test_several_sources(client: AsyncClient) -> None:
    with pytest.raises(Refused) as caught:
        await client.move(dne.cancel, 1)
    assert str(caught.value) == (
        "'cancel' goes from TO_BE_SCHEDULED or SCHEDULED, experiment 1 is DRAFT"
    )


async def test_a_guard_refuses_in_its_own_words(house: House, client: AsyncClient) -> None:
    await put(house, "SCHEDULED", 2)
    with pytest.raises(Refused) as caught:
        await client.move(dne.cancel, 2)
    assert str(caught.value) == "experiment 2 ended on 2020-02-02"
    assert await status(house, 2) == "SCHEDULED"
    assert [event["reason"] for event in await events(house, "move refused")] == [
        "experiment 2 ended on 2020-02-02"
    ]


async def test_who_may_by_name(house: House, client: AsyncClient) -> None:
    await put(house, "SCHEDULED")
    with pytest.raises(Refused) as caught:
        await client.using(by="carl").move(dne.cancel, 1)
    assert str(caught.value) == "'cancel' is for anna and ben, not for carl"
    assert await client.using(by="ben").move(dne.cancel, 1) is not None


async def test_who_may_by_rule(house: House, client: AsyncClient) -> None:
    await put(house, "SCHEDULED")
    with pytest.raises(Refused) as caught:
        await client.using(by="carl").move(dne.expire, 1)
    assert str(caught.value) == "carl may not expire SCHEDULED"
    assert await client.move(dne.expire, 1) is None


async def test_no_such_row(house: House, client: AsyncClient) -> None:
    with pytest.raises(NotFound) as caught:
        await client.move(dne.schedule, 3)
    assert str(caught.value) == "there is no experiment 3"
    assert await events(house, "move refused") == []


async def test_arguments_are_checked_first(house: House, client: AsyncClient) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await client.move(dne.schedule, 1, notes="x")
    assert str(caught.value) == (
        "set_up(notes): is not an argument. Did you mean note? Nothing was started."
    )
    with pytest.raises(InvalidArguments) as caught:
        await client.move(dne.schedule, 1, experiment_id=2)
    assert str(caught.value) == (
        "move 'schedule'(experiment_id): is the id of what is moved; give it once. "
        "Nothing was moved."
    )
    with pytest.raises(InvalidArguments) as caught:
        await client.move(dne.drop, 1, note="x")
    assert str(caught.value) == (
        "move 'drop'(note): is given, but the move starts no job. Nothing was moved."
    )
    assert await status(house) == "DRAFT"


async def test_a_guard_that_answers_nonsense(
    house: House, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(house, "SCHEDULED")
    odd = dne.experiments.transition("odd", "SCHEDULED", "DRAFT", guard=lambda row: True)  # type: ignore[arg-type,return-value]
    monkeypatch.delitem(dne.experiments.transitions, "odd")
    with pytest.raises(TypeError) as caught:
        await client.move(odd, 1)
    assert str(caught.value) == (
        "guard of 'odd' answered True; it gives None, or the text that refuses"
    )
    assert await status(house) == "SCHEDULED"


async def test_a_job_that_refuses_to_start_keeps_the_row(house: House, client: AsyncClient) -> None:
    await put(house, "SCHEDULED")
    first = await client.move(dne.move_end, 1, end=date(2030, 1, 1))
    assert first is not None
    with pytest.raises(Overlapping) as caught:
        await client.move(dne.move_end, 1, end=date(2031, 1, 1))
    assert caught.value.held_by == first.id
    assert len(await events(house, "move")) == 1
    assert len(await events(house, "move refused")) == 1


async def test_a_table_that_says_no(house: House, client: AsyncClient) -> None:
    await house.rows("alter table experiment add check (status <> 'TO_BE_SCHEDULED')")
    with pytest.raises(Exception, match="violates check constraint"):
        await client.move(dne.schedule, 1)
    assert await status(house) == "DRAFT"
    assert await house.value("select count(*) from koken.run") == 0


async def test_a_table_that_is_not_there(house: House, client: AsyncClient) -> None:
    await house.rows("drop table experiment")
    with pytest.raises(DeclarationError) as caught:
        await client.move(dne.schedule, 1)
    assert str(caught.value) == (
        "machine 'experiment': there is no table public.experiment in the database of Koken. "
        "A machine moves rows of that database."
    )


async def test_a_table_that_has_changed_since(house: House, client: AsyncClient) -> None:
    assert await client.move(dne.schedule, 1) is not None
    await house.rows("alter table experiment add column budget int")
    assert await client.move(dne.schedule, 2) is not None


async def test_of_twenty_at_once_one_wins(house: House, client: AsyncClient) -> None:
    answers = await asyncio.gather(
        *(client.move(dne.schedule, 1) for _ in range(20)), return_exceptions=True
    )
    assert Counter(type(answer) for answer in answers) == {Run: 1, Refused: 19}
    assert {str(answer) for answer in answers if isinstance(answer, Refused)} == {
        "'schedule' goes from DRAFT, experiment 1 is TO_BE_SCHEDULED"
    }
    assert await house.value("select count(*) from koken.run") == 1
    assert len(await events(house, "move refused")) == 19


@pytest.mark.parametrize(
    ("ending", "goal"), [(State.SUCCEEDED, "SCHEDULED"), (State.FAILED, "DRAFT")]
)
async def test_the_end_moves_on(
    house: House, client: AsyncClient, ending: State, goal: str
) -> None:
    run = await scheduled(client)
    await end(house, run.id, ending)
    assert await status(house) == goal
    assert await status(house, 2) == "DRAFT"
    _, event = await events(house, "move")
    assert (event["by"], event["run_id"]) == ("koken", run.id)
    assert event["reason"] == f"run {run.id} {ending}"
    detail = json.loads(event["detail"])
    assert (detail["from"], detail["to"]) == ("TO_BE_SCHEDULED", goal)


async def test_a_cancel_moves_as_a_failure_does(house: House, client: AsyncClient) -> None:
    run = await scheduled(client)
    assert (await client.cancel(run)).state == "cancelled"
    assert await status(house) == "DRAFT"
    assert [event["reason"] for event in await events(house, "move")][1:] == [
        f"run {run.id} was cancelled"
    ]


async def test_a_skip_moves_nothing(house: House, client: AsyncClient) -> None:
    run = await scheduled(client)
    await end(house, run.id, State.SKIPPED)
    assert await status(house) == "TO_BE_SCHEDULED"


async def test_a_row_that_has_gone_elsewhere_stays(house: House, client: AsyncClient) -> None:
    run = await scheduled(client)
    await put(house, "CANCELLED")
    await end(house, run.id, State.SUCCEEDED)
    assert await status(house) == "CANCELLED"
    (event,) = await events(house, "move passed over")
    assert event["reason"] == (
        f"run {run.id} succeeded, but experiment 1 is no longer TO_BE_SCHEDULED"
    )


async def test_a_retried_run_moves_on_at_its_end(house: House, client: AsyncClient) -> None:
    run = await scheduled(client)
    await end(house, run.id, State.FAILED)
    assert await status(house) == "DRAFT"
    await put(house, "TO_BE_SCHEDULED")
    await client.retry(run)
    await end(house, run.id, State.SUCCEEDED)
    assert await status(house) == "SCHEDULED"


async def test_an_error_of_the_table_poisons_no_batch(house: House, client: AsyncClient) -> None:
    """Not a constraint, and not one that speaks up at the commit."""
    await house.rows(
        "alter table experiment add constraint never check (id > 1 or status <> 'SCHEDULED')"
    )
    for text in (
        (
            "create function never() returns trigger language plpgsql as"
            " $$ begin raise exception 'never %', new.id; end $$"
        ),
        (
            "create constraint trigger late after update on experiment"
            " deferrable initially deferred for each row"
            " when (new.id = 2 and new.status = 'SCHEDULED') execute function never()"
        ),
    ):
        await house.rows(text)
    first, second = await scheduled(client, 1), await scheduled(client, 2)
    for run in await house.claim():
        await house.finish(run)
    assert await house.state(first.id) == await house.state(second.id) == "succeeded"
    assert await status(house) == await status(house, 2) == "TO_BE_SCHEDULED"
    one, two = await events(house, "move failed")
    assert "violates check constraint" in one["reason"]
    assert (one["run_id"], two["run_id"], two["reason"]) == (first.id, second.id, "never 2")


async def test_a_row_that_somebody_holds_is_moved_later(house: House, client: AsyncClient) -> None:
    """A transaction that stays open keeps no run from ending, and no other row from moving."""
    first, second = await scheduled(client, 1), await scheduled(client, 2)
    claimed = await house.claim()
    async with house.db.transaction() as holder:
        await holder.fetch_text("select from experiment where id = 1 for update")
        for run in claimed:
            await house.finish(run)
        assert await house.state(first.id) == await house.state(second.id) == "succeeded"
        assert await status(house, 2) == "SCHEDULED"
        await move.follow_late(house.db)
        assert await status(house, 1) == "TO_BE_SCHEDULED"
    await move.follow_late(house.db)
    assert await status(house, 1) == "SCHEDULED"
    assert await house.value("select count(*) from koken.late_follow_up") == 0


async def test_what_a_run_moves_goes_with_it(house: House, client: AsyncClient) -> None:
    first, second = await scheduled(client, 1), await scheduled(client, 2)
    for run in await house.claim():
        await house.finish(run)
    await house.pass_time(days=400)
    await prune.prune(house.db, {"succeeded": 1.0}, cursor=0)
    kept = await house.rows("select run_id from koken.moving")
    assert ([row["run_id"] for row in kept], first.id < second.id) == ([second.id], True)


ARGUMENTS = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (State.SUCCEEDED, {"praise": {"n": 7}}),
        (State.FAILED, {"mourn": {"n": 7, "who": "mira"}}),
        (State.CANCELLED, {}),
        (State.SKIPPED, {}),
    ],
)
async def test_jobs_that_follow(house: House, ending: State, expected: dict[str, object]) -> None:
    """They get the arguments that they have; a cancel and a skip are followed by nothing."""
    await house.job("praise", parameters=ARGUMENTS)
    await house.job("mourn")
    await house.job("report", on_success="praise", on_failure="mourn")
    run = (await house.start(n=7, who="mira", by="anna")).run_id
    await end(house, run, ending)
    rows = await house.rows(
        "select j.name, r.args::text as args, r.trigger_kind, r.trigger_by, r.state, r.logical_at"
        " from koken.run r join koken.job j on j.id = r.job_id where r.id <> $1",
        run,
    )
    assert {row["name"]: json.loads(row["args"]) for row in rows} == expected
    first = await house.row(run)
    assert {(row["trigger_kind"], row["trigger_by"], row["state"]) for row in rows} <= {
        ("run", str(run), "ready")
    }
    assert {row["logical_at"] for row in rows} <= {first["logical_at"]}


async def test_what_follows_comes_once_for_each_end(house: House) -> None:
    await house.job("mourn")
    await house.job("report", on_failure="mourn")
    run = (await house.start(n=7)).run_id
    await end(house, run, State.FAILED)
    await house.rows("select koken.follow_ups($1)", [run])
    count = "select count(*) from koken.run where id <> $1"
    assert await house.value(count, run) == 1
    await house.retry(run, by="anna", reason=None)
    await end(house, run, State.FAILED)
    assert await house.value(count, run) == 2


async def test_starts_in_bulk_are_followed_as_well(house: House) -> None:
    await house.job("mourn")
    await house.job("report", on_failure="mourn")
    (run,) = await house.start_many(1)
    await end(house, run, State.FAILED)
    assert await house.value("select count(*) from koken.run where id <> $1", run) == 1


async def test_a_job_that_cannot_follow_is_an_event(house: House) -> None:
    await house.job("report", on_success="nobody")
    run = (await house.start()).run_id
    await end(house, run, State.SUCCEEDED)
    assert await house.state(run) == "succeeded"
    (event,) = await events(house, "follow up failed")
    assert (event["run_id"], event["reason"]) == (run, "there is no job nobody")
    assert json.loads(event["detail"]) == {"job": "nobody"}
