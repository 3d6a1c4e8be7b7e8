"""The graph of a job and of a run, as values."""

from __future__ import annotations

import pytest

from koken.errors import NotFound
from koken.model.steps import Need, StepSpec
from koken.store.database import Database, Transaction
from koken.views import runs
from koken.views.graph import Edge, graph_of_job, graph_of_run
from tests.support.house import House
from tests.support.nights import FAILED, NIGHTLY, at, failed, flow

EDGES = [
    ("files", "table", "", True),
    ("table", "size", "", True),
    ("table", "crunch", "", True),
    ("size", "crunch", 'size is "big"', False),
    ("table", "add_up", "", True),
    ("size", "add_up", 'size is "small"', False),
    ("crunch", "publish", "", False),
    ("add_up", "publish", "", False),
    ("publish", "site", "", False),
    ("site", "apologise", "", False),
]


def plain(edges: tuple[Edge, ...]) -> list[tuple[str, str, str, bool]]:
    return [(edge.source, edge.target, edge.label, edge.hard) for edge in edges]


async def test_a_job(house: House, views: Database) -> None:
    await house.job("nightly", steps=NIGHTLY)
    graph = await graph_of_job(views, "nightly")
    assert graph.title == "nightly, version 1"
    assert plain(graph.edges) == EDGES
    told = [(node.name, node.state, node.gate, node.starts, node.spreads) for node in graph.nodes]
    assert told == [
        ("files", None, "", "", ""),
        ("table", None, "", "", "files"),
        ("size", None, "", "", ""),
        ("crunch", None, "", "", ""),
        ("add_up", None, "", "", ""),
        ("publish", None, "gate 30 4 * * *", "", ""),
        ("site", None, "", "publish_site", ""),
        ("apologise", None, "", "", ""),
    ]
    assert {node.mark.glyph for node in graph.nodes} == {"○"}


async def test_a_condition_that_looks_at_no_step(house: House, views: Database) -> None:
    step = StepSpec(name="a", no=1, queue="default", when="the day is long", asks=("day",))
    await house.job("one", steps=(step,))
    assert [node.when for node in (await graph_of_job(views, "one")).nodes] == ["the day is long"]


async def test_several_inputs_of_one_step_are_one_edge(house: House, views: Database) -> None:
    needs = (Need("a"), Need("a", "x", True))
    steps = (
        StepSpec(name="a", no=1, queue="default"),
        StepSpec(name="b", no=2, queue="default", needs=needs),
    )
    await house.job("two", steps=steps)
    assert plain((await graph_of_job(views, "two")).edges) == [("a", "b", "", True)]


async def test_a_run(house: House, views: Database) -> None:
    run_id = await failed(house)
    graph = await graph_of_run(views, await runs.get(views, run_id, workspace="default"))
    assert graph.title == f"nightly {run_id}"
    assert plain(graph.edges) == EDGES
    nodes = {node.name: node for node in graph.nodes}
    assert {name: node.mark.glyph for name, node in nodes.items()} == {
        "files": "✓", "table": "✓", "size": "✓", "crunch": "✗", "add_up": "–", "publish": "·",
        "site": "·", "apologise": "·",
    }  # fmt: skip
    assert nodes["table"].items is not None
    assert (nodes["table"].items.good, nodes["table"].items.made) == (209, 214)
    assert nodes["crunch"].to_json() == {
        "name": "crunch", "run": "5", "state": "failed", "glyph": "✗", "word": "failed",
        "items": None, "attempt": 2, "max_attempts": 2,
        "reason": "OSError: [Errno 28] No space left on device", "gate": None, "until": None,
        "starts": None, "each": None, "when": None, "join": None, "child": None,
    }  # fmt: skip


async def test_until_when_a_step_is_held(house: House, views: Database) -> None:
    """By its gate now, by its gate once its needs are met, and by a wait in the middle."""
    held = {"state": "waiting", "wait_cause": "gate", "wake_at": at(16.5)}
    retried = {"state": "waiting", "wait_cause": "retry", "wake_at": at(1), "attempt": 1}
    for row, until, gate in (
        (held, at(16.5), "gate 30 4 * * *"),
        (FAILED["publish"], at(16.5), "gate 30 4 * * *"),
        (retried, at(1), ""),
    ):
        run_id = await flow(house, FAILED | {"publish": row}, state="waiting")
        graph = await graph_of_run(views, await runs.get(views, run_id, workspace="default"))
        (node,) = [each for each in graph.nodes if each.name == "publish"]
        assert (node.until, node.gate) == (until, gate)


async def test_a_run_keeps_the_shape_that_it_began_with(house: House, views: Database) -> None:
    run_id = await failed(house)
    await house.job("nightly", steps=NIGHTLY[:3])
    run = await runs.get(views, run_id, workspace="default")
    assert len((await graph_of_run(views, run)).nodes) == 8
    assert len((await graph_of_job(views, "nightly")).nodes) == 3


async def test_without_steps(house: House, views: Database) -> None:
    await house.job()
    run = await runs.get(views, (await house.start()).run_id, workspace="default")
    graph = await graph_of_run(views, run)
    assert [(node.name, node.state, graph.edges) for node in graph.nodes] == [
        ("report", "ready", ())
    ]
    (node,) = (await graph_of_job(views, "report")).nodes
    assert (node.name, node.state) == ("report", None)
    with pytest.raises(NotFound, match="there is no job 'nothing'"):
        await graph_of_job(views, "nothing")


async def test_ten_thousand_steps_take_two_statements(
    house: House, views: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = tuple(
        StepSpec(
            name=f"s{no}", no=no, queue="default", needs=(Need(f"s{no - 1}"),) if no > 1 else ()
        )
        for no in range(1, 10_001)
    )
    run_id = await flow(house, {}, steps=steps, state="waiting")
    run = await runs.get(views, run_id, workspace="default")
    asked = []
    fetch_text = Transaction.fetch_text

    async def watched(self: Transaction, text: str, *args: object) -> object:
        asked.append(text)
        return await fetch_text(self, text, *args)

    monkeypatch.setattr(Transaction, "fetch_text", watched)
    graph = await graph_of_run(views, run)
    assert (len(graph.nodes), len(graph.edges), len(asked)) == (10_000, 9_999, 2)
