"""What machines ask: whether this process lives, whether it can work, figures for Prometheus."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping

from fastapi import APIRouter, FastAPI, Request
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from koken.errors import DatabaseUnreachable, KokenError
from koken.model.rights import Right
from koken.store import migrate
from koken.views import vitals
from koken.views.vitals import Vitals
from koken.web.access import door, origin
from koken.web.house import House

FRESH = 5.0
"""Seconds for which figures from the database hold."""
KIND = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
ELSEWHERE = "elsewhere"
"""Stands for what no route was found for, and for other methods than ours."""


class Figures(Collector):
    """What one house counts, and what it last read from the database."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.last: Vitals | None = None
        self.read_at = -FRESH
        self.reading = asyncio.Lock()
        self.registry = CollectorRegistry(auto_describe=False)
        self.requests = Counter(
            "koken_http_requests",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.lengths = Histogram(
            "koken_http_request_seconds",
            "How long requests took until their answer began.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.registry.register(self)

    async def text(self) -> bytes:
        """All figures, those from the database at most five seconds old."""
        async with self.reading:
            if time.monotonic() - self.read_at >= FRESH:
                try:
                    self.last = await vitals.vitals(self.house.views)
                except KokenError:
                    self.last = None
                self.read_at = time.monotonic()
        return generate_latest(self.registry)

    def collect(self) -> Iterable[Metric]:
        """The figures from the database; only whether it answers, while it does not."""
        now = self.last
        yield gauge("koken_database_up", "Whether PostgreSQL answers.", now is not None)
        if now is None:
            return
        runs = GaugeMetricFamily(
            "koken_runs",
            "Runs at work or ready, by queue; 10,001 stands for more.",
            labels=("state", "queue"),
        )
        for state, counts in (("running", now.running), ("ready", now.ready)):
            for queue, count in sorted(counts.items()):
                runs.add_metric((state, queue), count)
        yield runs
        yield labelled(
            "koken_oldest_ready_seconds",
            "For how long the oldest ready run of a queue has been ready.",
            "queue",
            now.oldest,
        )
        yield labelled("koken_workers", "Workers, by how they are.", "standing", now.workers)
        yield gauge("koken_slots", "Slots of all workers.", now.slots)
        yield gauge("koken_slots_used", "Slots with a run in them.", now.busy)
        yield gauge("koken_runs_waiting", "Runs that wait for a time.", now.waiting)
        yield gauge("koken_runs_in_line", "Places in line for a lock.", now.in_line)
        yield gauge(
            "koken_runs_failed_open", "Failed runs that nobody has acknowledged.", now.failed
        )
        yield gauge("koken_schedules_late", "Schedules that should have fired.", now.late)


def gauge(name: str, about: str, value: float) -> Metric:
    """One figure."""
    return GaugeMetricFamily(name, about, value=float(value))


def labelled(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    """Figures by a label."""
    found = GaugeMetricFamily(name, about, labels=(label,))
    for key, value in sorted(values.items()):
        found.add_metric((key,), float(value))
    return found


class Counting:
    """Around everything that is served: counts requests by route, and how long they took."""

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app = app
        self.figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        root = scope.get("root_path", "")

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                length = time.perf_counter() - begun
                method = scope["method"] if scope["method"] in METHODS else ELSEWHERE
                route = route_of(scope, root)
                self.figures.requests.labels(method, route, str(message["status"])).inc()
                self.figures.lengths.labels(method, route).observe(length)
            await send(message)

        await self.app(scope, receive, sent)


def route_of(scope: Scope, root: str) -> str:
    """The route of a request with places in it, so that there are few: ``/runs/{run}``."""
    template = getattr(scope.get("route"), "path_format", None)
    if template is None:
        return ELSEWHERE
    return str(scope.get("root_path", "")).removeprefix(root) + str(template)


def watch(whole: FastAPI, house: House) -> None:
    """Have an application answer what machines ask, and count what it is asked."""
    figures = Figures(house)
    whole.include_router(router(house, figures))
    whole.add_middleware(Counting, figures=figures)


def router(house: House, figures: Figures) -> APIRouter:
    """``/health``, ``/ready`` and ``/metrics``."""
    found = APIRouter()

    @found.get("/health")
    async def health() -> Response:
        """Whether this process lives; asks nobody."""
        return JSONResponse({"alive": True})

    @found.get("/ready")
    async def ready() -> Response:
        """Whether it can work: PostgreSQL answers, and its tables are those of this release."""
        try:
            async with house.views.transaction() as tx:
                standing = await migrate.standing(tx.connection, house.config.schema)
            why = "" if standing.usable else "the tables are not those of this release"
        except DatabaseUnreachable:
            why = "PostgreSQL does not answer"
        if why:
            return JSONResponse({"ready": False, "why": why}, 503)
        return JSONResponse({"ready": True})

    @found.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Figures of all workspaces: for this machine, and for who may look everywhere."""
        if not origin.is_local(request):
            try:
                visit = await door.visit(request)
            except KokenError as error:
                return PlainTextResponse(f"{error}\n", error.status)
            if not visit.principal.everywhere(Right.READ):
                told = f"{visit.principal.name} may not look into every workspace\n"
                return PlainTextResponse(told, 403)
        return Response(await figures.text(), headers={"content-type": KIND})

    return found
