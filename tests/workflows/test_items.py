"""Steps with items: where the list comes from, how many go at once, how many may fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import koken
from koken import Accept
from koken.testing import TestClient
from tests.workflows.acts import rows
from tests.workflows.conftest import Hire

OPEN = """
select count(*) from koken.run
 where step = 'item' and need_rule is null and open_needs is null and finished_at is null
"""
"""Items that were released and have not ended."""


def test_over_an_argument_a_list_and_the_results_of_items(client_of: Hire) -> None:
    app = koken.App("lists")

    @app.workflow
    def flow(numbers: list[int]) -> None: ...

    @flow.step(each={"number": "numbers"})
    def double(number: int) -> int:
        return 2 * number

    @flow.step(each={"number": double})
    def text(number: int) -> str:
        if number == 4:
            raise koken.Skip("not this one")
        return str(number)

    @flow.step
    def names(text: list[str], double: list[int]) -> list[str]:
        return [f"{each} of {sum(double)}" for each in text]

    @flow.step(each={"name": names})
    def shout(name: str, numbers: list[int]) -> str:
        return f"{name.upper()} {len(numbers)}"

    client = client_of(app)
    run = client.run(flow, [1, 2, 3])
    assert (run.state, run.result) == ("succeeded", ["2 OF 12 3", "6 OF 12 3"])
    assert client.states(run) == dict.fromkeys(("double", "text", "names", "shout"), "succeeded")
    assert client.states(run, "text") == {
        "text[0]": "succeeded",
        "text[1]": "skipped",
        "text[2]": "succeeded",
    }


def test_over_an_empty_list(client_of: Hire) -> None:
    app = koken.App("empty")

    @app.workflow
    def flow(numbers: list[int]) -> None: ...

    @flow.step(each={"number": "numbers"}, accept=Accept(0.9, at_least=1))
    def item(number: int) -> int:
        raise AssertionError

    @flow.step
    def total(item: list[int]) -> int:
        return sum(item)

    client = client_of(app)
    run = client.run(flow, [])
    assert (run.state, run.result) == ("succeeded", 0)
    assert client.states(run) == {"item": "succeeded", "total": "succeeded"}
    assert client.states(run, "item") == {}


@pytest.mark.parametrize(
    ("given", "what"), [({"a": 1}, "a JSON object"), ("abc", "a JSON string"), (None, "nothing")]
)
def test_over_no_list(client_of: Hire, given: object, what: str) -> None:
    app = koken.App("none")
    flow = app.workflow("flow")

    @flow.step
    def found() -> Any:
        return given

    @flow.step(each={"number": found}, max_attempts=3)
    def item(number: int) -> None: ...

    client = client_of(app)
    run = client.run(flow)
    assert (run.state, client.states(run)) == ("failed", {"found": "succeeded", "item": "failed"})
    assert run.reason == (
        f"StepFailed: step item: InvalidArguments: step item: its items are to be a list; they "
        f"are {what}"
    )


def counting(client_of: Hire, total: int, at_once: int | None, bad: Iterable[int] = ()) -> Any:
    """A client, a workflow over so many items, and how many were open whenever one went."""
    app = koken.App("counting")
    flow = app.workflow("flow")
    broken = set(bad)
    open_items: list[int] = []

    @flow.step
    def files() -> list[int]:
        return list(range(total))

    @flow.step(each={"number": files}, at_once=at_once, max_attempts=2, backoff="1m")
    def item(number: int) -> int:
        open_items.append(rows(client, OPEN)[0][0])  # type: ignore[arg-type]
        if number in broken:
            broken.discard(number)
            raise OSError("once")
        return number

    client: TestClient = client_of(app)
    return client, flow, open_items


def test_never_more_than_at_once(client_of: Hire) -> None:
    client, flow, open_items = counting(client_of, 10, 3, bad=[0, 4])
    run = client.fast_forward(client.start(flow))
    assert run.state == "succeeded"
    assert sorted(run.result) == list(range(10))
    assert max(open_items) == 3
    assert len(open_items) == 12


def test_one_after_the_other(client_of: Hire) -> None:
    client, flow, open_items = counting(client_of, 4, 1)
    assert client.run(flow).result == [0, 1, 2, 3]
    assert open_items == [1, 1, 1, 1]


def test_all_at_once_without_a_limit(client_of: Hire) -> None:
    client, flow, open_items = counting(client_of, 4, None)
    assert client.run(flow).result == [0, 1, 2, 3]
    assert open_items == [4, 3, 2, 1]


def accepting(
    client_of: Hire,
    total: int,
    bad: Iterable[int],
    accept: Accept | None,
    at_once: int | None = None,
) -> Any:
    """A run of a workflow over so many items, some of which fail; and which were carried out."""
    app = koken.App("accepting")
    flow = app.workflow("flow")
    broken = set(bad)
    carried: list[int] = []

    @flow.step
    def files() -> list[int]:
        return list(range(total))

    @flow.step(each={"number": files}, accept=accept, at_once=at_once)
    def item(number: int) -> int:
        carried.append(number)
        if number in broken:
            raise OSError(f"{number} is broken")
        return number

    @flow.step
    def count(item: list[int]) -> int:
        return len(item)

    client = client_of(app)
    return client, client.run(flow), carried


def test_misses_that_are_borne_are_skipped(client_of: Hire) -> None:
    client, run, carried = accepting(client_of, 20, [7], Accept(0.95, of=20))
    assert (run.state, run.result, len(carried)) == ("succeeded", 19, 20)
    assert client.states(run, "item") == {
        f"item[{n}]": "skipped" if n == 7 else "succeeded" for n in range(20)
    }
    (missed,) = (step for step in client.steps(item_run(client, run)) if step.state == "skipped")
    assert missed.reason == "OSError: 7 is broken"
    assert client.find("state:failed") == []


def item_run(client: TestClient, run: Any) -> int:
    """The run of the step with the items."""
    (found,) = (step.run_id for step in client.steps(run) if step.name == "item")
    assert found is not None
    return found


def test_too_many_misses_end_the_rest_early(client_of: Hire) -> None:
    client, run, carried = accepting(client_of, 20, [1, 2, 3], Accept(0.95, of=20), at_once=4)
    assert run.state == "failed"
    assert client.states(run) == {"files": "succeeded", "item": "failed", "count": "blocked"}
    states = list(client.states(run, "item").values())
    assert states[:4] == ["succeeded", "failed", "failed", "cancelled"]
    assert set(states[4:]) == {"cancelled"}
    assert carried == [0, 1, 2]
    assert run.reason == (
        "StepFailed: step item: 2 of 20 items failed (accepted: 1), 17 were cancelled; "
        "step item[1]: OSError: 1 is broken"
    )


def test_few_items_need_the_least_number(client_of: Hire) -> None:
    _, run, _ = accepting(client_of, 3, [0, 1], Accept(0.95, of=20, at_least=1))
    assert (run.state, run.result) == ("succeeded", 1)


def test_none_of_few_is_too_few(client_of: Hire) -> None:
    _, run, _ = accepting(client_of, 3, [0, 1, 2], Accept(0.95, of=20, at_least=1))
    assert run.state == "failed"


def test_without_a_rule_all_others_are_finished_and_the_step_fails(client_of: Hire) -> None:
    client, run, carried = accepting(client_of, 4, [1], None)
    assert (run.state, carried) == ("failed", [0, 1, 2, 3])
    assert client.states(run, "item") == {
        "item[0]": "succeeded",
        "item[1]": "failed",
        "item[2]": "succeeded",
        "item[3]": "succeeded",
    }
    assert run.reason == (
        "StepFailed: step item: 1 of 4 items failed; step item[1]: OSError: 1 is broken"
    )


def test_items_have_a_lock_each(client_of: Hire) -> None:
    app = koken.App("locks")
    flow = app.workflow("flow")
    seen: list[str] = []

    @flow.step
    def names() -> list[str]:
        return ["a", "b", "a", "b"]

    @flow.step(each={"name": names}, lock="name:{name}", max_attempts=2, backoff="1h")
    def item(name: str) -> None:
        seen.append(name)
        if len(seen) <= 2:
            raise OSError("again")

    client = client_of(app)
    run = client.run(flow)
    assert seen == ["a", "b"]
    assert client.states(run, "item") == {
        "item[0]": "waiting",
        "item[1]": "waiting",
        "item[2]": "blocked",
        "item[3]": "blocked",
    }
    assert client.fast_forward(run).state == "succeeded"
    assert sorted(seen) == ["a", "a", "a", "b", "b", "b"]


def test_items_of_items_of_a_job(client_of: Hire) -> None:
    app = koken.App("jobs")

    @app.job
    def square(number: int, power: int = 2) -> int:
        return int(number**power)

    @app.workflow
    def flow(numbers: list[int]) -> None: ...

    flow.step(square, each={"number": "numbers"}, name="squares")
    client = client_of(app)
    run = client.run(flow, [1, 2, 3])
    assert (run.state, run.result) == ("succeeded", [1, 4, 9])
    assert [each.args for each in client.started(square)] == [
        {"number": n, "power": 2} for n in (1, 2, 3)
    ]
