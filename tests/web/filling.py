"""Making the world: the runs that stand for something, each in its state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

from koken.client.awaiting import AsyncClient
from koken.config import Config
from koken.define.job import Job
from koken.engine import claim, hooks, publish, queues, register, schedules
from koken.engine.register import Label
from koken.runtime.worker import Worker
from koken.store.database import Database
from tests.support.moments import until
from tests.web import company
from tests.web.company import app
from tests.web.past import TROUBLES, Past, by_name, history, into_the_past

LANES = {"default": 4, "reports": 4, "ads": 4, "night": 4, "imports": 4, "google": 4}


@dataclass(slots=True)
class World:
    """What was made."""

    url: str
    runs: dict[str, int] = field(default_factory=dict)
    """Runs that stand for something: failed, broken_step, hostile, asks, elsewhere, to_retry, live,
    at_work, lost, waits_for_lock, no_worker, paused, delayed, cancelled, skipped, acknowledged,
    uncompensated, undo_failed, disk, done."""
    bulk: int = 0
    schedule: int = 0
    """That of daily-report."""


async def fill(url: str, *, now: datetime | None = None) -> World:
    """Make the world in the database at ``url``, which is migrated and has no runs."""
    world = World(url)
    past = history(now or datetime.now(UTC))
    async with AsyncClient(url, by="mira") as client, Filling(url, client, world, past) as filling:
        await filling.versions()
        async with filling.work(LANES | {"cluster": 4}):
            await filling.long_ago()
            await filling.today()
            await filling.settled()
        async with filling.work(LANES):
            await filling.just_now()
            await filling.settled()
        await filling.hands()
        await filling.held()
        await filling.elsewhere()
        await into_the_past(url, filling.pasts, datetime.now(UTC))
    return world


class Filling:
    """Fills one database."""

    def __init__(self, url: str, client: AsyncClient, world: World, past: list[Past]) -> None:
        self.url = url
        self.client = client
        self.world = world
        self.past = past
        self.db = Database(url, size=4)
        self.pasts: list[tuple[int, Past]] = []
        self.later: list[tuple[int, str, str]] = []
        """Runs that are carried out by hand: of which queue, and by which worker, if any."""
        self.workers: dict[str, int] = {}

    async def __aenter__(self) -> Filling:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.db.close()

    def work(self, lanes: dict[str, int]) -> Working:
        """A worker at work on these queues."""
        return Working(self.url, lanes)

    async def versions(self) -> None:
        """Versions of before: other rules, other schedules, another step missing."""
        report = by_name("daily-report").spec
        first = replace(
            report, max_attempts=1, overlap=None, description="Sum up a day.", schedules=()
        )
        second = replace(report, max_attempts=2, description="Sum up a day and mail it.")
        ads = replace(by_name("sync-ads").spec, run_timeout=None, lock=None)
        for spec in (first, second, ads):
            await self.db.run(
                lambda tx, spec=spec: publish.publish_job(tx, app=app.name, spec=spec, by="deploy")
            )

    async def start(
        self,
        job: Job[..., Any],
        *,
        by: str = "mira",
        hours: float,
        takes: float = 5,
        hand: str | None = None,
        **args: Any,
    ) -> int:
        """Start a run that will lie ``hours`` back, after all that lies further back."""
        while self.past and self.past[0].hours > hours:
            await self.go(self.past.pop(0))
        if hand is None:
            return await self.go(Past(hours, job, args, takes, by))
        queue = job.spec.queue
        run_id = await self.go(Past(hours, job.using(queue="later"), args, takes, by))
        self.later.append((run_id, queue, hand))
        return run_id

    async def go(self, past: Past) -> int:
        """Start one run."""
        client = self.client.using(by=past.by or "mira")
        run = await client.start(past.job.using(overlap="allow"), **past.args)
        self.pasts.append((run.id, past))
        return run.id

    async def long_ago(self) -> None:
        """What is over for long."""
        runs, start = self.world.runs, self.start
        runs["acknowledged"] = await start(
            company.clean_up_images, hours=49, takes=30, days=0, by="ops"
        )
        await self.settled()
        await self.client.acknowledge(
            runs["acknowledged"], reason="the disk was full, it is not now"
        )
        runs["done"] = await start(
            company.resize_picture, hours=8, takes=2, picture=12, size="big", by="shop"
        )
        runs["skipped"] = await start(company.send_invoices, hours=6, month="2026-02", by="lea")
        runs["uncompensated"] = await start(
            company.charge_card, hours=5, takes=9, order=4711, card_number="4111 1111 1111 1111"
        )

    async def today(self) -> None:
        """What needs a hand now, and what waits."""
        runs, start = self.world.runs, self.start
        today = datetime.now(UTC).date()
        company.TROUBLE.add(str(today))
        runs["asks"] = await start(company.approve_budget, hours=3.4, month="2026-12", by="lea")
        runs["lost"] = await start(
            company.rebuild_index, hours=3.2, by="deploy", shop="wien", hand="wien-1"
        )
        runs["disk"] = await start(company.clean_up_images, hours=3.1, takes=41, days=0, by="ops")
        runs["elsewhere"] = await start(company.set_up, hours=2.5, experiment=815, by="growth")
        runs["hostile"] = await start(
            company.resize_picture, hours=2.2, picture=34, size=company.HOSTILE, by="shop"
        )
        runs["no_worker"] = await start(company.refresh_cache, hours=2.1, by="ops")
        for number in range(6):
            at = 1.9 - number / 20
            await start(company.resize_picture, hours=at, picture=17 * (number + 3), by="shop")
        runs["broken_step"] = await start(
            company.nightly, hours=1.4, takes=1900, day=today, bad="compute"
        )
        for shop in ("berlin", "koeln"):
            runs["waits_for_lock"] = await start(
                company.rebuild_index, hours=1.1, by="deploy", shop=shop, hand=""
            )
        await self.settled()
        runs["at_work"] = await start(
            company.sync_ads, hours=1.05, account="halma-de", hand="berlin-1"
        )
        runs["undo_failed"] = await start(
            company.nightly, hours=0.9, takes=1500, day=today, bad="tell"
        )
        for number in range(12):
            day = date(2026, 10, 1 + number)
            runs["paused"] = await start(
                company.daily_report, hours=0.8 - number / 40, day=day, hand=""
            )
        runs["cancelled"] = await start(
            company.send_invoices.using(delay="9h"), hours=0.4, by="lea"
        )
        why = f"lea says {company.DRAWING} is no month"
        await self.client.cancel(runs["cancelled"], reason=why)
        await self.client.wait(runs["undo_failed"], 60)  # by the worker that serves all its steps

    async def just_now(self) -> None:
        """The last minutes: a workflow stands before a step for which no worker is there yet."""
        runs, start = self.world.runs, self.start
        today = datetime.now(UTC).date()
        runs["live"] = await start(company.nightly, hours=0.3, takes=900, day=today)

        async def stands() -> bool:
            found = await self.client.steps(runs["live"])
            return any(each.name == "compute" and each.state == "ready" for each in found)

        await until(stands, 30)
        await start(company.sync_ads, hours=0.25, account="halma-de", hand="")
        runs["failed"] = await start(
            company.daily_report,
            hours=0.2,
            takes=65,
            day=today,
            token="s3cr3t",
            customer={"name": f"{company.PICTURE} {company.LINK}", "number": 7},
        )
        runs["to_retry"] = await start(company.import_orders, hours=0.15, shop="wien", since="x")
        runs["delayed"] = await start(company.send_invoices.using(delay="5h"), hours=0.1, by="lea")
        acme = self.client.using(workspace="acme", by="kim")
        for number in range(1, 12):
            await acme.start(company.resize_picture, picture=number * 5)
        await acme.start(company.resize_picture, picture=170)

    async def settled(self) -> None:
        """Until nothing runs or could run."""
        text = (
            "select count(*) as n from koken.run r join koken.queue q on q.id = r.queue_id"
            " where q.name not in ('later', 'edge', 'cluster') and (r.state in ('ready', 'running')"
            " or r.wait_cause = 'retry' and r.wake_at < koken.now() + interval '3 s')"
        )

        async def quiet() -> bool:
            async with self.db.session() as session:
                return bool((await session.fetch_text(text))[0]["n"] == 0)

        await until(quiet, 60)

    async def hands(self) -> None:
        """Workers by hand, and what they carry."""
        for name, lanes in (
            ("berlin-1", {"default": 4, "ads": 2, "cluster": 2}),
            ("berlin-2", {"reports": 2, "night": 4, "imports": 4, "google": 2}),
            ("wien-1", {"default": 4}),
        ):
            host = f"{name}.halma.example"
            label = Label(name=name, host=host, pid=412, app=app.name, version="0.4.0")
            self.workers[name] = await register.register(self.db, label, lanes)
        await self.claim("berlin-1", "cluster")
        for run_id, queue, worker in self.later:
            ids = await register.queue_ids(self.db, {queue: 1})
            async with self.db.session() as session:
                await session.fetch_text(
                    "update koken.run set queue_id = $1 where id = $2", ids[queue], run_id
                )
            if worker:
                await self.claim(worker, queue)
        async with self.db.session() as session:
            await session.execute("delete from koken.queue where name = 'later'")

    async def claim(self, worker: str, queue: str) -> None:
        """Have a worker take what is ready of a queue."""
        ids = await register.queue_ids(self.db, {queue: 1})
        taken = await claim.from_bottom(self.db, self.workers[worker], {ids[queue]: 4})
        assert taken, f"nothing in {queue}"

    async def held(self) -> None:
        """What people hold: a queue, a schedule, a bulk, a limit, a hook."""
        await queues.pause(self.db, "reports", paused=True, by="mira", reason="warehouse is moving")
        await queues.set_limits(self.db, "ads", limit=3, rate=2, by="mira", reason="quota of ads")
        await schedules.pause(
            self.db, "train-forecast", workspace="default", by="lea", reason="no data until Monday"
        )
        await hooks.add(self.db, "shop-orders", "import-orders", workspace="default", by="mira")
        bulk = await self.client.retry_where(
            "job:resize-picture state:failed", rate="2/m", reason="the pictures are there now"
        )
        self.world.bulk = bulk.id
        async with self.db.session() as session:
            (row,) = await session.fetch_text(
                "select s.id from koken.schedule s join koken.job j on j.id = s.job_id"
                " where j.name = 'daily-report' and s.workspace_id = 1 and s.retired_at is null"
            )
        self.world.schedule = row["id"]

    async def elsewhere(self) -> None:
        """A lost worker, and a schedule that is late."""
        async with self.db.session() as session:
            await session.execute(TROUBLES)


class Working:
    """A worker, as long as the block goes."""

    def __init__(self, url: str, lanes: dict[str, int]) -> None:
        self.worker = Worker(
            app, Config(app="tests.web.company:app", database_url=url, queues=lanes), name="filler"
        )

    async def __aenter__(self) -> None:
        await self.worker.start()

    async def __aexit__(self, *_: object) -> None:
        await self.worker.stop(grace=5)
