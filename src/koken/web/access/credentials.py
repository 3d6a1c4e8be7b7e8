"""Whose credentials those are. Tokens are looked up once in a few seconds, sessions each time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from koken.engine import sessions, tokens
from koken.errors import KokenError
from koken.model.credentials import hashed
from koken.model.names import fault
from koken.model.rights import Right
from koken.store.database import Database
from koken.views import doors
from koken.views.doors import Token, User
from koken.web.access import passwords
from koken.web.access.kept import Kept
from koken.web.access.principal import Kind, Principal, rights_of

log = logging.getLogger("koken.web")
FRESH = 5.0
"""Seconds for which an answer about a token holds; one that is revoked is good for so long."""
WRITTEN = 60.0
"""Seconds between two notes of when a token was used."""
MOST = 10_000
AT_ONCE = 2
"""Passwords that are worked on at the same time; each takes 64 MiB and a core."""


class Credentials:
    """What the doors of one process know of credentials."""

    def __init__(self, db: Database, views: Database) -> None:
        self.db = db
        self.views = views
        self.door_key = b""
        self.good: Kept[bytes, Token] = Kept(FRESH, MOST)
        self.bad: Kept[bytes, bool] = Kept(FRESH, MOST)
        self.used: Kept[int, bool] = Kept(WRITTEN, MOST)
        self.given: Kept[str, bool] = Kept(FRESH, 1)
        self.names: Kept[str, frozenset[str]] = Kept(FRESH, 1)
        self.known_at: str | None = None
        self.checking = asyncio.Semaphore(AT_ONCE)
        self.notes: set[asyncio.Task[None]] = set()

    async def key(self) -> bytes:
        """What is signed with."""
        if not self.door_key:
            self.door_key = await doors.door_key(self.views)
        return self.door_key

    async def token(self, text: str) -> Principal | None:
        """Whose token that is; None where it is none that is good."""
        digest = hashed(text)
        if self.bad.get(digest):
            return None
        found = self.good.get(digest)
        if found is None:
            found = await doors.token(self.views, digest)
            if found is None:
                self.bad.put(digest, True)
                return None
            self.good.put(digest, found)
        whose = Principal(
            name=f"token {found.name}",
            kind=Kind.TOKEN,
            rights={found.workspace: frozenset(map(Right, found.rights))},
            number=found.id,
            until=found.expires_at,
        )
        if whose.over:
            return None
        if not self.used.get(found.id):
            self.used.put(found.id, True)
            self.note(tokens.note_use(self.db, found.id))
        return whose

    async def session(self, text: str) -> Principal | None:
        """Whose session that is; None where it is over."""
        digest = hashed(text)
        found = await doors.session(self.views, digest)
        if found is None:
            return None
        if found.long_unseen:
            self.note(sessions.note_seen(self.db, digest))
        return Principal(
            name=found.name,
            kind=Kind.USER,
            rights=rights_of(found.roles),
            session=digest,
            number=found.user_id,
            until=found.expires_at,
        )

    async def user(self, name: str, password: str) -> User | None:
        """Whose name and password those are; takes as long whatever is wrong."""
        found = await doors.user(self.views, name) if fault(name) is None else None
        async with self.checking:
            right = await passwords.is_right(password, found.password if found else None)
        return found if right else None

    async def hashed(self, password: str, name: str) -> str:
        """A password as it is kept. Raises ``InvalidArguments`` for one that is easily guessed."""
        async with self.checking:
            return await asyncio.to_thread(passwords.hashed, password, name)

    async def nobody(self) -> bool:
        """Whether nobody was given a token or a password yet."""
        given = self.given.get("")
        if given is None:
            given = self.given.put("", await doors.credentials_given(self.views))
        return not given

    async def is_workspace(self, name: str) -> bool:
        """Whether there is a workspace of that name."""
        known = self.names.get("")
        if known is None or name not in known:
            known = self.names.put("", await doors.workspaces(self.views))
        return name in known

    def known_as_of(self, rights: str | None) -> None:
        """Look everything up anew, once for each ``rights``, which change when some rights do."""
        if rights != self.known_at:
            self.known_at = rights
            self.forget()

    def forget(self) -> None:
        """Look everything up anew."""
        for kept in (self.good, self.bad, self.given, self.names):
            kept.clear()

    def note(self, work: Coroutine[Any, Any, None]) -> None:
        """Write something down beside the request, which does not wait for it."""
        task = asyncio.ensure_future(told(work))
        self.notes.add(task)
        task.add_done_callback(self.notes.discard)

    async def settle(self) -> None:
        """Wait until everything is written down."""
        await asyncio.gather(*self.notes)


async def told(work: Coroutine[Any, Any, None]) -> None:
    """Do it; where the database does not answer, nobody needs to know but the log."""
    try:
        await work
    except KokenError as error:
        log.info("not written down: %s", error)
