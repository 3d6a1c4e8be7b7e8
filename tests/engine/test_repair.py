"""Repair of workflows by people: what goes again, what stays, and that the plan says so before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import koken
from koken.errors import InvalidArguments, NotFound, Refused
from koken.model.plain import stamp
from koken.model.plan import Plan
from koken.model.run import Run
from koken.testing import TestClient
from koken.views import runwords

app = koken.App("repairs")
BEGUN: list[str] = []


@app.workflow
def nightly(n: int = 8) -> None:
    """The night's figures."""


@nightly.step
def files(n: int) -> list[int]:
    BEGUN.append("files")
    return list(range(n))


@nightly.step(each={"file": files}, at_once=3, effect="idempotent")
def table(file: int) -> int:
    BEGUN.append(f"table {file}")
    return file * 2


@nightly.step(effect="transactional")
def size(table: list[int]) -> str:
    BEGUN.append("size")
    return "big" if len(table) > 5 else "small"


@nightly.step(when={"size": "big"}, lock="cluster", effect="pure")
def crunch(table: list[int]) -> int:
    BEGUN.append("crunch")
    return sum(table)


@nightly.step(when={"size": "small"})
def add_up(table: list[int]) -> int:
    BEGUN.append("add_up")
    return -sum(table)


@nightly.step
def publish(crunch: int | None = None, add_up: int | None = None) -> str:
    BEGUN.append("publish")
    return f"{crunch} {add_up}"


@nightly.step(after=["publish"], join="any_failed")
def apologise() -> None:
    BEGUN.append("apologise")


@app.workflow
def careful() -> None:
    """Its steps say what they do outside."""


@careful.step(effect="once")
def charge() -> int:
    return 7


@careful.step(after=["charge"], effect="unsafe")
def wire() -> None: ...


@careful.step(after=["wire"])
def tell() -> None: ...


@careful.step(after=["tell"], effect="pure")
def tidy() -> None: ...


@app.workflow
def abreast() -> None:
    """Two that know nothing of each other, and one after both."""


@abreast.step
def left() -> int:
    BEGUN.append("left")
    return 1


@abreast.step
def right() -> int:
    BEGUN.append("right")
    return 2


@abreast.step(gate="0 23 * * *")
def late() -> int:
    BEGUN.append("late")
    return 3


@abreast.step
def both(left: int, right: int) -> int:
    BEGUN.append("both")
    return left + right


@pytest.fixture
def client() -> Iterator[TestClient]:
    BEGUN.clear()
    with TestClient(app, by="anna") as made:
        yield made


def states(client: TestClient, run: Run[Any]) -> dict[str, str]:
    """Each step with its state."""
    return {row.name: row.state.value if row.state else "none" for row in client.steps(run)}


def published(client: TestClient, run: Run[Any]) -> str:
    """What the step publish returned."""
    rows = {row.name: row for row in client.steps(run)}
    return rows["publish"].result.strip('"')


def events(client: TestClient) -> list[tuple[Any, ...]]:
    """Who did what to which run, and why."""
    with psycopg.connect(client.database_url) as connection:
        return connection.execute(
            "select verb, by, reason, run_id, detail from koken.event where run_id is not null"
            " order by id"
        ).fetchall()


def failed_at_crunch(client: TestClient) -> Run[Any]:
    client.failing(crunch, OSError("no space"))
    run = client.fast_forward(client.start(nightly))
    assert run.state == "failed"
    BEGUN.clear()
    return run


def test_what_succeeded_stays(client: TestClient) -> None:
    run = failed_at_crunch(client)
    assert states(client, run) == {
        "files": "succeeded", "table": "succeeded", "size": "succeeded", "crunch": "failed",
        "add_up": "skipped", "publish": "blocked", "apologise": "blocked",
    }  # fmt: skip
    client.retry(run, reason="scratch cleaned")
    run = client.fast_forward(run)
    assert (run.state, BEGUN) == ("succeeded", ["crunch", "publish"])
    assert states(client, run) == {
        "files": "succeeded", "table": "succeeded", "size": "succeeded", "crunch": "succeeded",
        "add_up": "skipped", "publish": "succeeded", "apologise": "skipped",
    }  # fmt: skip
    assert events(client) == [
        ("retry", "anna", "scratch cleaned", run.id, {"from": "failed", "again": ["crunch"]})
    ]


def test_the_plan_says_what_the_retry_does(client: TestClient) -> None:
    run = failed_at_crunch(client)
    (table,) = (step for step in client.steps(run) if step.name == "table")
    plan = client.plan("retry", run, from_step="crunch")
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.to_json() == {
        "verb": "retry",
        "run": str(run.id),
        "job": run.job,
        "from_step": "crunch",
        "again": [
            {
                "step": "crunch",
                "effect": "pure",
                "inputs": [{"step": "table", "items": 8, "at": stamp(table.ended_at)}],
                "items": None,
                "closes_at": None,
                "follows": False,
                "for_failure": False,
            }
        ],
        "then": [
            {
                "step": "publish",
                "effect": None,
                "not_before_at": None,
                "closes_at": None,
                "starts": None,
            }
        ],
        "keeps": ["files", "table", "size"],
        "stays": {"add_up": "skipped"},
        "may_repeat": [],
        "locks": [{"key": "cluster", "held_by": None}],
        "needs_force": False,
        "undone": [],
        "max_attempts": 1,
        "timezone": "UTC",
    }
    assert client.get(run).state == "failed"
    assert events(client) == []


def test_the_plan_names_who_holds_the_lock(client: TestClient) -> None:
    run = failed_at_crunch(client)
    with psycopg.connect(client.database_url) as connection:
        connection.execute(
            "insert into koken.hold"
            " (lock_id, run_id, mode, when_held, rank, not_before, granted_at)"
            " select id, 99, 'exclusive', 'wait', now(), now(), now() from koken.lock"
        )
    plan = client.plan("retry", run)
    assert plan.to_json()["locks"] == [{"key": "cluster", "held_by": "99"}]


def test_from_a_step_that_succeeded_all_that_follows_goes_again(client: TestClient) -> None:
    run = client.fast_forward(client.start(nightly))
    BEGUN.clear()
    plan = client.plan("retry", run, from_step=size)
    assert [each.step for each in plan.again] == ["size", "crunch", "add_up", "publish"]
    assert plan.keeps == ("files", "table")
    client.retry(run, from_step=size, reason="the rule was wrong")
    assert states(client, run)["size"] == "blocked"
    run = client.fast_forward(run)
    assert (run.state, published(client, run), BEGUN) == (
        "succeeded",
        "56 None",
        ["size", "crunch", "publish"],
    )
    assert events(client)[-1][:3] == ("retry", "anna", "the rule was wrong")
    assert events(client)[-1][4]["from"] == "succeeded"


def test_other_arguments_reach_the_steps_and_items_are_made_anew(client: TestClient) -> None:
    run = client.fast_forward(client.start(nightly))
    BEGUN.clear()
    client.retry(run, from_step="files", args={"n": 2}, reason="only two today")
    run = client.fast_forward(run)
    assert run.args == {"n": 2}
    assert published(client, run) == "None -2"
    assert BEGUN == ["files", "table 0", "table 1", "size", "add_up", "publish"]
    assert len(client.steps(client.steps(run)[1].run_id or 0)) == 2
    with pytest.raises(InvalidArguments, match="'x' is not a whole number"):
        client.retry(run, from_step="files", args={"n": "x"})


def test_a_step_alone_leaves_other_failures(client: TestClient) -> None:
    client.failing(left, OSError("l"))
    client.failing(right, OSError("r"))
    run = client.fast_forward(client.start(abreast))
    rows = {row.name: row for row in client.steps(run)}
    BEGUN.clear()
    client.retry(rows["left"].run_id or 0, reason="left only")
    run = client.fast_forward(run)
    assert (run.state, BEGUN) == ("failed", ["left"])
    assert states(client, run) == {
        "left": "succeeded", "right": "failed", "late": "succeeded", "both": "blocked"
    }  # fmt: skip
    assert events(client)[-1][3:] == (run.id, {"from": "failed", "step": "left", "again": ["left"]})
    with pytest.raises(Refused, match=r"step both of run .*: it is not begun: it goes when"):
        client.retry(run, from_step="both")
    client.retry(run, reason="the rest")
    assert client.fast_forward(run).state == "succeeded"
    assert BEGUN == ["left", "right", "both"]


def test_a_step_does_not_begin_before_what_it_needs(client: TestClient) -> None:
    client.now = client.now.replace(hour=10)
    client.failing(left, OSError("l"))
    run = client.start(abreast)
    client.drain()
    client.cancel(run)
    client.drain()
    assert states(client, run)["both"] == "cancelled"
    with pytest.raises(Refused, match="it needs left, which is failed; begin there: --from left"):
        client.retry(run, from_step="both")
    client.retry(run)
    assert client.fast_forward(run).state == "succeeded"


def test_a_failed_step_goes_again_while_the_others_still_go(client: TestClient) -> None:
    client.now = client.now.replace(hour=10)
    client.failing(left, OSError("l"))
    run = client.start(abreast)
    client.drain()
    assert client.get(run).state == "waiting"
    assert states(client, run) == {
        "left": "failed", "right": "succeeded", "late": "waiting", "both": "blocked"
    }  # fmt: skip
    with pytest.raises(Refused, match="while its workflow goes, only what failed"):
        client.retry(run, from_step="right")
    client.retry(run, from_step="left", reason="mended")
    client.drain()
    assert states(client, run) == {
        "left": "succeeded", "right": "succeeded", "late": "waiting", "both": "succeeded"
    }  # fmt: skip
    assert client.fast_forward(run).state == "succeeded"


def test_skip_lets_the_others_go_on(client: TestClient) -> None:
    run = failed_at_crunch(client)
    client.skip(run, crunch, reason="not today")
    run = client.fast_forward(run)
    assert (run.state, published(client, run), BEGUN) == ("succeeded", "None None", ["publish"])
    row = {row.name: row for row in client.steps(run)}["crunch"]
    assert (row.state, row.reason) == ("skipped", "skipped by anna: not today")
    assert events(client)[-1][4] == {"from": "failed", "step": "crunch"}


def test_resolve_gives_the_result_that_others_take(client: TestClient) -> None:
    run = failed_at_crunch(client)
    with pytest.raises(InvalidArguments, match=r"nightly.crunch\(result\): .*Nothing was done"):
        client.resolve(run, "crunch", result="much")
    assert client.get(run).state == "failed"
    client.resolve(run, "crunch", result=41, reason="by hand")
    run = client.fast_forward(run)
    assert (run.state, published(client, run), BEGUN) == ("succeeded", "41 None", ["publish"])


def test_a_held_step_is_skipped_and_one_that_needs_others_too(client: TestClient) -> None:
    client.now = client.now.replace(hour=10)
    client.failing(left, OSError("l"))
    run = client.start(abreast)
    client.drain()
    client.skip(run, "late")
    client.skip(run, "left")
    run = client.get(run)
    client.drain()
    assert client.get(run).state == "succeeded"
    assert states(client, run) == {
        "left": "skipped", "right": "succeeded", "late": "skipped", "both": "skipped"
    }  # fmt: skip


def test_resolving_a_skipped_step_wakes_those_it_passed_its_skip_to(client: TestClient) -> None:
    client.now = client.now.replace(hour=10)
    client.failing(left, koken.Skip("empty"))
    run = client.start(abreast)
    client.drain()
    assert states(client, run)["both"] == "skipped"
    client.resolve(run, "left", result=10, reason="it was there after all")
    run = client.fast_forward(run)
    assert (run.result, states(client, run)["both"]) == ({"late": 3, "both": 12}, "succeeded")


def test_marks_are_repairs_in_numbers(client: TestClient) -> None:
    run = failed_at_crunch(client)
    client.mark(run, "crunch", 4, reason="ran by hand")
    run = client.fast_forward(run)
    assert (run.state, published(client, run)) == ("succeeded", "None None")
    run = failed_at_crunch(client)
    client.mark(run, "crunch", 3)
    assert client.fast_forward(run).state == "succeeded"
    for code in (0, 1):
        run = failed_at_crunch(client)
        client.mark(run, "crunch", code)
        assert (client.fast_forward(run).state, BEGUN) == ("succeeded", ["crunch", "publish"])
    with pytest.raises(InvalidArguments, match="marked -1: -1 says that a step has failed"):
        client.mark(run, "crunch", -1)
    with pytest.raises(InvalidArguments, match="marked 2: 2 says that a step is executing"):
        client.mark(run, "crunch", 2)
    with pytest.raises(InvalidArguments, match=r"marked 9: the codes are 4 \(done\)"):
        client.mark(run, "crunch", 9)


def test_fork_takes_over_what_is_before(client: TestClient) -> None:
    first = client.fast_forward(client.start(nightly))
    BEGUN.clear()
    plan = client.plan("fork", first, from_step="crunch")
    assert (plan.keeps, [each.step for each in plan.again]) == (
        ("files", "table", "size"),
        ["crunch", "publish"],
    )
    fork = client.fork(first, "crunch", reason="another try")
    assert (fork.state, fork.version, fork.args) == ("ready", first.version, {"n": 8})
    assert fork.origin is not None
    assert (fork.origin.id, fork.origin.verb) == (first.id, "fork")
    assert states(client, fork) == {
        "files": "succeeded", "table": "succeeded", "size": "succeeded", "crunch": "blocked",
        "add_up": "skipped", "publish": "blocked", "apologise": "blocked",
    }  # fmt: skip
    fork = client.fast_forward(fork)
    assert (fork.state, published(client, fork), BEGUN) == (
        "succeeded",
        "56 None",
        ["crunch", "publish"],
    )
    rows = client.steps(client.steps(fork)[1].run_id or 0)
    assert [row.result for row in rows] == ["0", "2", "4", "6", "8", "10", "12", "14"]
    assert events(client)[-1][4]["run"] == str(fork.id)


def test_rerun_is_a_new_run_of_the_job_as_it_is_now(client: TestClient) -> None:
    first = client.fast_forward(client.start(nightly, n=3))
    again = client.rerun(first, reason="once more")
    assert again.id != first.id
    assert (again.args, again.logical_time) == ({"n": 3}, first.logical_time)
    assert again.origin is not None
    assert (again.origin.id, again.origin.verb, again.trigger.by) == (first.id, "rerun", "anna")
    assert published(client, client.fast_forward(again)) == "None -6"


def test_effects_that_may_repeat_are_told_and_unsafe_ones_want_force(client: TestClient) -> None:
    client.failing(tidy, OSError("x"))
    run = client.fast_forward(client.start(careful))
    plan = client.plan("retry", run, from_step="charge")
    assert plan.may_repeat == ("charge", "wire", "tell")
    assert plan.needs_force
    with pytest.raises(Refused, match="retry repeats wire, which is unsafe"):
        client.retry(run, from_step="charge", reason="again")
    assert client.get(run).state == "failed"
    with pytest.raises(InvalidArguments, match="force wants a reason"):
        client.retry(run, from_step="charge", force=True)
    assert not client.plan("retry", run).needs_force
    client.retry(run, from_step="charge", force=True, reason="the bank has lost it")
    assert client.fast_forward(run).state == "succeeded"
    assert events(client)[-1][4]["force"] is True


def test_steps_that_have_not_begun_repeat_nothing(client: TestClient) -> None:
    client.failing(charge, OSError("x"))
    run = client.fast_forward(client.start(careful))
    plan = client.plan("retry", run)
    assert [each.step for each in plan.again] == ["charge"]
    assert [each.step for each in plan.then] == ["wire", "tell", "tidy"]
    assert (plan.may_repeat, plan.needs_force) == (("charge",), False)


def test_a_plan_that_no_longer_holds_is_not_carried_out(client: TestClient) -> None:
    run = failed_at_crunch(client)
    assert client.plan("skip", run, "crunch").then[0].step == "publish"
    client.retry(run)
    client.fast_forward(run)
    with pytest.raises(
        Refused, match=r"step crunch of run \d+: it has ended already \(succeeded\)"
    ):
        client.skip(run, "crunch")
    with pytest.raises(Refused, match=r"it has succeeded\. retry"):
        client.retry(run)


def test_unknown_names_are_told(client: TestClient) -> None:
    run = failed_at_crunch(client)
    with pytest.raises(NotFound, match="has no step 'crnch'; it has files, table, size"):
        client.retry(run, from_step="crnch")
    with pytest.raises(NotFound, match=r"step table of run .* has no item 99"):
        client.skip(run, "table[99]")
    with pytest.raises(InvalidArguments, match="'cancel' has no plan"):
        client.plan("cancel", run)


def test_the_time_until_somebody_lets_it_go_again_is_no_work(client: TestClient) -> None:
    """Four hours after a failure, and two after another, nobody has worked for six hours."""
    client.failing(size, OSError("no space left"), times=2)
    run = client.start(nightly, n=6)
    client.wait(run)
    for hours in (4, 2):
        client.advance(f"{hours}h")
        client.retry(run, from_step="size")
        run = client.wait(run)
    assert run.state.value == "succeeded"
    assert (run.ended_at - run.started_at).total_seconds() >= 6 * 3600
    assert run.idle >= 6 * 3600
    assert runwords.took(run, client.now) == "0 ms"
