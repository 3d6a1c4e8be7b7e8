"""What the doors ask at a visit: whose token or session that is, and what they may do where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from koken.model.names import folded
from koken.store.database import Database
from koken.views.reading import rows

DOOR_KEY = "select key from koken.door_key"
WORKSPACES = "select name from koken.workspace where id <> 2"
CREDENTIALS = """
select exists (select from koken.user)
    or exists (select from koken.token where revoked_at is null) as given
"""
TOKEN = """
select t.id, t.name, t.rights, t.expires_at, coalesce(w.name, '*') as workspace
  from koken.token t left join koken.workspace w on w.id = t.workspace_id
 where t.hash = $1 and t.revoked_at is null
   and (t.expires_at is null or t.expires_at > koken.now())
   and (t.workspace_id is null or w.id is not null)
"""
SESSION = """
select u.id as user_id, u.name, s.expires_at,
       s.seen_at < koken.now() - interval '1 minute' as long_unseen,
       (select json_object_agg(coalesce(w.name, '*'), m.role)
          from koken.membership m left join koken.workspace w on w.id = m.workspace_id
         where m.user_id = u.id and (m.workspace_id is null or w.id is not null))::text as roles
  from koken.session s join koken.user u on u.id = s.user_id
 where s.hash = $1 and s.expires_at > koken.now() and u.disabled_at is null
"""
USER = """
select id, name, password from koken.user
 where folded = $1 and disabled_at is null and password is not null
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token that is good."""

    id: int
    name: str
    workspace: str
    """``*`` is every workspace."""
    rights: tuple[str, ...]
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session that is good."""

    user_id: int
    name: str
    """Whose it is."""
    expires_at: datetime
    roles: Mapping[str, str]
    long_unseen: bool
    """Whether more than a minute has passed since it was written down that they were here."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password."""

    id: int
    name: str
    password: str
    """Its hash."""


async def door_key(db: Database) -> bytes:
    """What the doors sign with."""
    return bytes((await rows(db, DOOR_KEY))[0]["key"])


async def workspaces(db: Database) -> frozenset[str]:
    """The names of all workspaces that one may choose."""
    return frozenset(row["name"] for row in await rows(db, WORKSPACES))


async def credentials_given(db: Database) -> bool:
    """Whether anybody was ever let in: there is a user, or a token that nobody has revoked."""
    return bool((await rows(db, CREDENTIALS))[0]["given"])


async def token(db: Database, digest: bytes) -> Token | None:
    """The token with this hash, if it is good."""
    for row in await rows(db, TOKEN, digest):
        return Token(**{**dict(row), "rights": tuple(row["rights"])})
    return None


async def session(db: Database, digest: bytes) -> Session | None:
    """The session with this hash, if it is good."""
    for row in await rows(db, SESSION, digest):
        return Session(
            user_id=row["user_id"],
            name=row["name"],
            expires_at=row["expires_at"],
            roles=json.loads(row["roles"] or "{}"),
            long_unseen=row["long_unseen"],
        )
    return None


async def user(db: Database, name: str) -> User | None:
    """Somebody who may sign in with a password."""
    for row in await rows(db, USER, folded(name)):
        return User(**dict(row))
    return None
