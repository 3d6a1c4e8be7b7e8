"""One look at the database for all who watch: a live view costs nothing while nothing changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from koken.errors import DatabaseUnreachable, TooMany
from koken.runtime.service import LONGEST_REST, Service
from koken.store.database import Database, Transaction
from koken.views import fingerprints
from koken.views.reading import reading
from koken.web.live.topics import OfAccess, Topic

PERIOD = 0.5
"""Seconds between two looks while somebody follows."""
MOST = 1000
"""How many may follow at a time, in one process."""
MOST_EACH = 100
"""How many of them may be the same person's, or the same program's."""
LATER = 10.0
"""Seconds after which whoever was turned away may ask again."""


class Changes:
    """What one follower is told: the fingerprint of its topic, the latest only.

    Whoever is slow misses what came between, and never holds up others.
    """

    def __init__(self, topic: Topic, who: str = "") -> None:
        self.topic = topic
        self.who = who
        self.over = False
        """Nothing more will come: the doors close."""
        self.told: str | None = None
        self.latest: str | None = None
        self.news = asyncio.Event()

    def tell(self, version: str) -> None:
        """The topic stands at this version now."""
        self.latest = version
        if version != self.told:
            self.news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self.over = True
        self.news.set()

    async def within(self, seconds: float | None) -> str | None:
        """The next version; None when none came in that time, or when it is over."""
        try:
            async with asyncio.timeout(seconds):
                while self.latest == self.told:
                    if self.over:
                        return None
                    await self.news.wait()
                    self.news.clear()
        except TimeoutError:
            return None
        self.told = self.latest
        return self.told

    def __aiter__(self) -> Self:
        """The present version first, then each that it changes to."""
        return self

    async def __anext__(self) -> str:
        """The next version."""
        version = await self.within(None)
        if version is None:
            raise StopAsyncIteration
        return version


class Watched:
    """A topic that somebody follows, and how it stood at the last look."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.version: str | None = None
        self.followers: set[Changes] = set()

    def tell(self, version: str) -> None:
        """All who follow, when it has changed."""
        if version != self.version:
            self.version = version
            for each in self.followers:
                each.tell(version)


class Hub(Service):
    """Tells those who follow a topic when it has changed.

    While somebody follows it asks the server once a period whether anything at all was written.
    Only then each topic is looked at, once for all who follow it.
    """

    name = "live views"

    def __init__(self, db: Database) -> None:
        super().__init__()
        self.db = db
        self.watched: dict[str, Watched] = {}
        self.followers: set[Changes] = set()
        self.access = Watched(OfAccess())
        self.seen: str | None = None
        """What the server said when all topics had been looked at."""
        self.blind = False
        """The database cannot be asked: nobody can be told whether anything has changed."""

    @property
    def rights(self) -> str | None:
        """Another text when somebody's rights have changed; kept up while anybody follows."""
        return self.access.version

    @asynccontextmanager
    async def going(self) -> AsyncIterator[None]:
        """As long as it looks."""
        await self.start()
        try:
            yield
        finally:
            self.end()
            await self.stop()

    def end(self) -> None:
        """Send all away who follow: the doors close."""
        self.stopping = True
        self.send_away()

    def send_away(self) -> None:
        """End all that is followed; whoever comes back says what they have seen."""
        for each in self.followers:
            each.end()

    @asynccontextmanager
    async def follow(self, topic: Topic, who: str = "") -> AsyncIterator[Changes]:
        """Follow a topic as long as the block runs, on behalf of somebody.

        Raises ``TooMany``, ``DatabaseUnreachable``.
        """
        if self.blind:
            raise DatabaseUnreachable("the database does not answer: nothing can be followed now")
        self.refuse_too_many(who)
        changes = Changes(topic, who)
        watched = self.watched.setdefault(topic.key, Watched(topic))
        watched.followers.add(changes)
        self.followers.add(changes)
        if self.stopping:
            changes.end()
        if watched.version is None:
            self.ring()
        else:
            changes.tell(watched.version)
        try:
            yield changes
        finally:
            self.followers.discard(changes)
            watched.followers.discard(changes)
            if not watched.followers:
                self.watched.pop(topic.key, None)

    def refuse_too_many(self, who: str) -> None:
        """Raise ``TooMany`` where too much is followed already, by all or by the same one."""
        if len(self.followers) >= MOST:
            raise TooMany(f"{MOST} live views are open here already", after=LATER)
        if who and sum(each.who == who for each in self.followers) >= MOST_EACH:
            raise TooMany(f"you have {MOST_EACH} live views open here already", after=LATER)

    async def version(self, topic: Topic) -> str:
        """How a topic stands, or has stood a moment ago; asked only where nobody follows it."""
        watched = self.watched.get(topic.key)
        if watched is not None and watched.version is not None:
            return watched.version
        return await self.look_now(topic)

    async def look_now(self, topic: Topic) -> str:
        """How a topic stands now."""
        async with reading(self.db) as session:
            return await topic.look(session)

    async def turn(self) -> float:
        """Look, if anybody wants to know, or until it can be looked again.

        While the database is away all who follow are sent away: silence would tell them that
        nothing changes.
        """
        if not self.watched and not self.blind:
            return LONGEST_REST
        try:
            async with reading(self.db) as session:
                await self.look(session)
        except DatabaseUnreachable:
            self.blind = True
            self.send_away()
            raise
        self.blind = False
        return PERIOD

    async def look(self, session: Transaction) -> None:
        """Ask whether anything was written, and if so look at each topic.

        After a failure all are looked at again, and the one that failed last of all.
        """
        seen, self.seen = self.seen, None
        now = await fingerprints.committed(session)
        for watched in [self.access, *self.watched.values()]:
            if now != seen or watched.version is None:
                try:
                    version = await watched.topic.look(session)
                except BaseException:
                    self.put_last(watched)
                    raise
                watched.tell(version)
        self.seen = now

    def put_last(self, watched: Watched) -> None:
        """Look at the others before it next time."""
        key = watched.topic.key
        if self.watched.get(key) is watched:
            self.watched[key] = self.watched.pop(key)
