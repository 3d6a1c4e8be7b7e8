"""Koken with one large graph, which the name of the database tells: ``…_wide_10000``."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from bench.systems.base import Producer
from bench.systems.koken import SLOTS, Koken
from bench.tally import Tally
from koken import App, AsyncClient, Workflow

AT_ONCE = 500
"""Items of one step that go together."""


def graph_app(tally: Tally, url: str) -> App:
    """The program with the graph of this database."""
    *_, kind, size = url.split("_")
    app = App("bench", database_url=url, worker={"queues": {"default": SLOTS}})

    @app.job(name="empty")
    async def empty() -> None:
        tally.add()

    flow = app.workflow("graph")
    if kind == "each":
        declare_items(flow, tally, int(size))
    else:
        declare_steps(flow, tally, GRAPHS[kind](int(size)))
    return app


def declare_steps(flow: Workflow[...], tally: Tally, needs: Iterator[range]) -> None:
    """Steps by number, each with the numbers of those before it that it needs."""

    async def body() -> None:
        tally.add()

    for number, before in enumerate(needs):
        flow.step(body, name=f"s{number}", after=[f"s{need}" for need in before])


def declare_items(flow: Workflow[...], tally: Tally, size: int) -> None:
    """A list that is known at run time only, and a body for each of its items."""

    async def numbers() -> list[int]:
        return list(range(size))

    async def item(number: int) -> None:
        tally.add()

    listed = flow.step(numbers, name="numbers")
    flow.step(item, name="item", each={"number": listed}, at_once=AT_ONCE)


def wide(size: int) -> Iterator[range]:
    """Steps that need nothing."""
    return (range(0) for _ in range(size))


def layered(size: int) -> Iterator[range]:
    """As many layers as a layer has steps; each step needs the whole layer before it."""
    side = isqrt(size)
    for number in range(side * side):
        layer = number // side
        yield range(max(0, (layer - 1) * side), layer * side)


def deep(size: int) -> Iterator[range]:
    """One step after another."""
    return (range(max(0, number - 1), number) for number in range(size))


GRAPHS = {"wide": wide, "layered": layered, "deep": deep}


class GraphProducer:
    """A client that starts the graph, or empty jobs to see that the worker is there."""

    def __init__(self, app: App) -> None:
        self.registry = app.registry
        self.client = AsyncClient(app)

    async def start(self, sent: int) -> None:
        await self.client.start(self.registry.get("graph"))

    async def start_many(self, count: int) -> None:
        await self.client.start_many(self.registry.get("empty"), [{}] * count)

    async def close(self) -> None:
        await self.client.close()


class KokenGraphs(Koken):
    """The system under test, with another program."""

    name = "koken_graphs"
    settings = f"one queue, {SLOTS} slots, one workflow"
    chains = ()

    def app(self, tally: Tally, url: str) -> App:
        return graph_app(tally, url)

    async def producer(self, url: str) -> Producer:
        return GraphProducer(self.app(Tally(), url))


SYSTEM = KokenGraphs()
