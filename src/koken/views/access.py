"""Who may come in: users with their roles, tokens, sessions. What the doors ask is ``doors``."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.names import folded
from koken.model.plain import stamp
from koken.store.database import Database
from koken.views.reading import rows

MOST = 1000
"""Users or tokens on one page."""
USERS = """
select u.id, u.name, u.issuer, u.created_at, u.created_by, u.signed_in_at, u.disabled_at,
       (select json_object_agg(coalesce(w.name, '*'), m.role)
          from koken.membership m left join koken.workspace w on w.id = m.workspace_id
         where m.user_id = u.id and (m.workspace_id is null or w.id is not null)
           and ($1::text[] is null or w.name is null or w.name = any($1)))::text as roles,
       (select count(*) from koken.session s
         where s.user_id = u.id and s.expires_at > koken.now()) as sessions
  from koken.user u
 where u.folded > $2 and ($1::text[] is null
    or exists (select from koken.membership m left join koken.workspace w on w.id = m.workspace_id
                where m.user_id = u.id and (m.workspace_id is null or w.name = any($1))))
 order by u.folded
 limit $3
"""
TOKENS = """
select t.id, t.name, t.hint, coalesce(w.name, '*') as workspace, t.rights, t.created_at,
       t.created_by, t.expires_at, t.last_used_at, t.revoked_at, t.revoked_by,
       coalesce(t.expires_at <= koken.now(), false) as expired
  from koken.token t left join koken.workspace w on w.id = t.workspace_id
 where ($1::text[] is null or w.name = any($1)) and ($2 or t.revoked_at is null)
   and (t.workspace_id is null or w.id is not null)
   and (t.revoked_at is not null, lower(t.name), t.id) > ($3, lower($4), $5)
 order by t.revoked_at is not null, lower(t.name), t.id
 limit $6
"""
SESSIONS = """
select left(encode(s.hash, 'hex'), 16) as id, u.name as user, s.created_at, s.seen_at,
       s.expires_at, s.address, s.agent
  from koken.session s join koken.user u on u.id = s.user_id
 where ($1::text is null or u.folded = $1)
   and s.expires_at > koken.now() and u.disabled_at is null
 order by s.seen_at desc, s.hash
 limit $2
"""
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrom", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("Linux", "Linux"),
)
"""What an agent's text has in it → what that is called; the first that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRow:
    """Somebody who signs in."""

    id: int
    name: str
    issuer: str | None
    """Who vouches for them; None: they have a password here."""
    roles: Mapping[str, str]
    """Workspace → role; ``*`` is everywhere."""
    sessions: int
    """Browsers in which they are signed in."""
    created_at: datetime
    created_by: str
    signed_in_at: datetime | None
    disabled_at: datetime | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return plain(self, roles=dict(self.roles))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """The key of a program; the key itself is nowhere."""

    id: int
    name: str
    hint: str
    """Its first characters."""
    workspace: str
    """``*`` is every workspace."""
    rights: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    revoked_at: datetime | None
    revoked_by: str | None
    expired: bool

    @property
    def standing(self) -> str:
        """``good``, ``expired`` or ``revoked``."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expired else "good"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        found = plain(self, rights=list(self.rights), standing=self.standing)
        del found["expired"]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A browser in which somebody is signed in."""

    id: str
    """Enough of what stands for it to tell it from others."""
    user: str
    created_at: datetime
    seen_at: datetime
    """To the minute."""
    expires_at: datetime
    address: str
    agent: str

    @property
    def browser(self) -> str:
        """The browser and its machine, as people call them: ``Firefox on Windows``."""
        name = next((name for sign, name in BROWSERS if sign in self.agent), "Something else")
        system = next((name for sign, name in SYSTEMS if sign in self.agent), "")
        return f"{name} on {system}" if system else name

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return plain(self)


def plain(row: Any, **changes: Any) -> dict[str, Any]:
    """A row as plain values: instants as texts, ids as strings."""
    found = {name: getattr(row, name) for name in row.__slots__}
    found = {key: stamp(v) if isinstance(v, datetime) else v for key, v in found.items()}
    return {**found, "id": str(row.id), **changes}


async def users(
    db: Database, workspaces: Collection[str] | None = None, *, after: str = "", limit: int = MOST
) -> list[UserRow]:
    """Users by name; where ``workspaces`` are given, only those who may do something there.

    Of these only the roles there and everywhere are told. ``after``: the last name of the page
    before.
    """
    found = await rows(db, USERS, names(workspaces), folded(after), limit)
    return [UserRow(**{**dict(row), "roles": json.loads(row["roles"] or "{}")}) for row in found]


async def tokens(
    db: Database,
    workspaces: Collection[str] | None = None,
    *,
    revoked: bool = False,
    after: tuple[bool, str, int] = (False, "", 0),
    limit: int = MOST,
) -> list[TokenRow]:
    """Tokens by name; where ``workspaces`` are given, only those that are good there alone.

    ``after``: of the last of the page before, whether it was revoked, its name and its number.
    """
    found = await rows(db, TOKENS, names(workspaces), revoked, *after, limit)
    return [TokenRow(**{**dict(row), "rights": tuple(row["rights"])}) for row in found]


async def sessions(db: Database, user: str | None = None, *, limit: int = 200) -> list[SessionRow]:
    """Where somebody is signed in, or everybody; the last seen first."""
    whose = None if user is None else folded(user)
    return [SessionRow(**dict(row)) for row in await rows(db, SESSIONS, whose, limit)]


def names(workspaces: Collection[str] | None) -> list[str] | None:
    """Workspaces as PostgreSQL takes them; None: all."""
    return None if workspaces is None else list(workspaces)
