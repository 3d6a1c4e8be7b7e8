"""The state machine: one table in the model, the same in the trigger, in every statement."""

from __future__ import annotations

import re
from importlib import resources

import asyncpg
import pytest

from koken.model.states import BORN, ENDED, LIVE, MOVES, State
from tests.support.house import House

SQL = resources.files("koken.store")
MIGRATION = SQL.joinpath("migrations/0001_house.sql").read_text()
STATEMENTS = {
    file.name: file.read_text()
    for file in SQL.joinpath("sql").iterdir()
    if "update koken.run " in file.read_text()
}


def trigger_moves() -> set[tuple[str, str]]:
    """What the trigger in the database allows."""
    (body,) = re.findall(r"create trigger run_moves.*?execute function", MIGRATION, re.DOTALL)
    pairs = re.findall(r"old\.state = '(\w+)' and new\.state in \(([^)]*)\)", body)
    return {(old, new) for old, news in pairs for new in re.findall(r"'(\w+)'", news)}


def test_the_trigger_allows_what_the_table_allows() -> None:
    table = {
        (source.value, target.value) for source, targets in MOVES.items() for target in targets
    }
    assert trigger_moves() == table


def test_every_state_is_live_or_ended_and_never_both() -> None:
    assert set(State) == LIVE | ENDED
    assert set() == LIVE & ENDED
    assert {State.BLOCKED, State.READY, State.WAITING, State.SKIPPED, State.SUCCEEDED} == BORN


def test_every_run_can_end() -> None:
    for source in LIVE:
        seen, reach = set(), {source}
        while reach - seen:
            state = (reach - seen).pop()
            seen.add(state)
            reach |= MOVES[state]
        assert reach & ENDED, source


@pytest.mark.parametrize("source", list(State))
@pytest.mark.parametrize("target", list(State))
async def test_the_database_refuses_other_moves(house: House, source: State, target: State) -> None:
    await house.job()
    run = (await house.start()).run_id
    await house.rows("alter table koken.run disable trigger run_moves")
    await house.rows("update koken.run set state = $2 where id = $1", run, source.value)
    await house.rows("alter table koken.run enable trigger run_moves")
    move = house.rows("update koken.run set state = $2 where id = $1", run, target.value)
    if source is target or target in MOVES[source]:
        await move
        assert await house.state(run) == target
    else:
        with pytest.raises(Exception, match=f"may not go from {source} to {target}") as caught:
            await move
        assert isinstance(caught.value.__cause__, asyncpg.PostgresError)
        assert await house.state(run) == source


FROM_STATES = re.compile(r"state (?:= '(\w+)'|in \(((?:'\w+'(?:, )?)+)\)|= any)")


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_statements_that_write_a_state_name_their_from_states(name: str) -> None:
    """I1. Each ``set state = …`` has from-states in its where clause, and its moves are legal."""
    for update in re.split(r"update koken\.run", STATEMENTS[name])[1:]:
        head, _, rest = update.partition(" where ")
        written = re.search(
            r"\bstate = (.*?)(?:,\n|\n    from|\n  from|\n   where|$)", head, re.DOTALL
        )
        if written is None or "set" not in head.split("state =")[0]:
            continue
        found = FROM_STATES.search(rest.split("returning")[0])
        assert found, f"{name} writes a state from anywhere"
        sources = [found[1]] if found[1] else re.findall(r"'(\w+)'", found[2])
        targets = {each for each in re.findall(r"'(\w+)'", written[1]) if each in set(State)}
        if re.search(r"else \w+\.state\b", written[1]):
            continue  # some stay as they are
        for source in sources:
            assert source in set(State)
            assert not targets or MOVES[State(source)].intersection(targets), name
