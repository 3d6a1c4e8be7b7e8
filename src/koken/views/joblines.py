"""The jobs of a workspace for a page that lists them: found by a query, judged, starred first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from koken.store.database import Database, Row, Transaction
from koken.views.lateness import LATE
from koken.views.query import WORD, Conditions, escaped, refused, unquoted, values
from koken.views.reading import reading
from koken.views.strips import Strip

SCHEDULED = """
  left join lateral (
    select min(s.next_at) filter (where s.paused_at is null) as next_at, count(*) as schedules,
           coalesce(bool_or(s.paused_at is not null), false) as paused,
           coalesce(bool_or(s.paused_at is null and (s.problem is not null
             or s.next_at < koken.now() - make_interval(secs => ${grace}::float8))), false) as late
      from koken.schedule s
     where s.job_id = j.id and s.workspace_id = w.id and s.retired_at is null) s on true
"""
JUDGED = """
select j.id, j.name, v.spec ->> 'owner' as owner, (v.spec -> 'tags')::text as tags,
       q.name as queue,
       exists (select from koken.star t
                where t.owner = ${owner} and t.workspace_id = w.id and t.job_id = j.id) as starred,
       case when l.state = 'failed' and l.acknowledged_at is null then 'failing'
            when s.late then 'late'
            when exists (select from koken.run r
                          where r.workspace_id = w.id and r.job_id = j.id
                            and r.state = 'failed' and r.acknowledged_at is null
                            and r.parent_id is null) then 'open'
            when s.paused then 'paused'
            when l.state = 'failed' then 'acknowledged'
            when l.state is null then 'new'
            else 'healthy' end as health
  from koken.job j
  join koken.job_version v on v.id = j.version_id
  join koken.queue q on q.id = v.queue_id
  join koken.workspace w on w.name = ${workspace}
""" + SCHEDULED + """
  left join lateral (
    select r.state, r.acknowledged_at from (
      select r.id, r.state, r.acknowledged_at from koken.run r
       where r.workspace_id = w.id and r.job_id = j.id and r.job_id between j.id and j.id
         and r.parent_id is null
       order by r.id desc limit 20) r
     where r.state in ('succeeded', 'failed') order by r.id desc limit 1) l on true
 where j.workspace_id in (2, w.id) and j.retired_at is null and {where}
"""  # fmt: skip
LINES = """
select j.id, split_part(v.spec ->> 'description', E'\\n', 1) as description,
       s.next_at, s.schedules
  from koken.job j
  join koken.job_version v on v.id = j.version_id
  join koken.workspace w on w.name = $1
""" + SCHEDULED.format(grace=3) + """
 where j.id = any($2::int[])
"""  # fmt: skip
ANY = """
select from koken.job j, koken.workspace w
 where w.name = $1 and j.workspace_id in (2, w.id) and j.retired_at is null limit 1
"""


class Health(StrEnum):
    """What is to be said of a job first."""

    FAILING = "failing"
    """Its last end was an open failure: one that nobody has acknowledged."""
    LATE = "late"
    """A schedule of it should have fired, or cannot."""
    OPEN = "open"
    """It has open failures from before."""
    PAUSED = "paused"
    ACKNOWLEDGED = "acknowledged"
    """Its last end was a failure that somebody has acknowledged."""
    NEW = "new"
    """None of its latest runs has ended, if there are any."""
    HEALTHY = "healthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLine:
    """A job in the list."""

    id: int
    name: str
    description: str
    owner: str
    tags: tuple[str, ...]
    queue: str
    starred: bool
    health: Health
    next_at: datetime | None
    schedules: int
    strip: Strip = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """A part of the list, and what is known of all that match."""

    lines: Sequence[JobLine]
    total: int
    health: Mapping[Health, int]
    """How many of all that match are how."""
    tags: Mapping[str, int]
    """The tags of all that match, the most frequent first."""
    following: str
    """Where the next part goes on; empty: this was the last."""
    known: bool
    """Whether there is any job at all."""


@dataclass(slots=True)
class Wanted:
    """What a list of jobs is narrowed to."""

    jobs: Conditions = field(default_factory=Conditions)
    health: set[str] = field(default_factory=set)


def parse(text: str) -> Wanted:
    """What a query for jobs says: ``tag:money owner:data queue:reports state:failing name``.

    Raises ``InvalidArguments`` naming the word.
    """
    wanted = Wanted()
    for match in WORD.finditer(text):
        word, value, bare = match[1], match[2], match[3]
        if bare is not None:
            wanted.jobs.add(SAID, f"%{escaped(unquoted(bare))}%")
        elif not value:
            raise refused(word, "needs a value, such as tag:money")
        else:
            narrow(wanted, word, values(value))
    return wanted


def narrow(wanted: Wanted, word: str, named: list[str]) -> None:
    """One word of a query for jobs."""
    if word == "state":
        unknown = [each for each in named if each not in set(Health)]
        if unknown:
            raise refused("state", f"{unknown[0]!r} is none of {', '.join(Health)}")
        wanted.health = wanted.health & set(named) if wanted.health else set(named)
    elif word in WORDS:
        wanted.jobs.add(WORDS[word], named)
    else:
        raise refused(word, f"is no word here. There are {', '.join(WORDS)}, state")


SAID = "(j.name || ' ' || split_part(v.spec ->> 'description', E'\\n', 1)) ilike {}"
"""A bare word: in the name, or in the first line of what is said of the job."""
WORDS = {
    "job": "j.name = any({}::text[])",
    "tag": "v.spec -> 'tags' ?| {}::text[]",
    "owner": "v.spec ->> 'owner' = any({}::text[])",
    "queue": "q.name = any({}::text[])",
}


async def job_page(
    db: Database, query: str, *, workspace: str, owner: str, after: str = "", limit: int = 100
) -> JobPage:
    """The jobs that match, starred ones first, then by name; ``after``: where the last part ended.

    ``owner`` is whose stars count. Raises ``InvalidArguments`` for a bad query.
    """
    wanted = parse(query)
    async with reading(db) as session:
        judged = await judge(session, wanted, workspace, owner)
        health = Counter(Health(row["health"]) for row in judged)
        tags = Counter(tag for row in judged for tag in json.loads(row["tags"]))
        left = [row for row in judged if not wanted.health or row["health"] in wanted.health]
        rest = [row for row in left if not after or place(row) > placed(after)]
        shown = rest[:limit]
        lines = await session.fetch_text(LINES, workspace, [row["id"] for row in shown], LATE)
        known = bool(judged) or bool(await session.fetch_text(ANY, workspace))
    more = {row["id"]: row for row in lines}
    return JobPage(
        lines=[line(row, more[row["id"]]) for row in shown if row["id"] in more],
        total=len(left),
        health={each: health[each] for each in Health if health[each]},
        tags=dict(sorted(tags.items(), key=lambda tag: (-tag[1], tag[0]))),
        following=mark_of(shown[-1]) if len(rest) > limit else "",
        known=known,
    )


async def judge(session: Transaction, wanted: Wanted, workspace: str, owner: str) -> Sequence[Row]:
    """All jobs that match but for their health, with it."""
    values = wanted.jobs.parameters
    places = {name: len(values) + at for at, name in enumerate(("owner", "workspace", "grace"), 1)}
    text = JUDGED.format(where=wanted.jobs.text, **places)
    found = await session.fetch_text(text, *values, owner, workspace, LATE)
    return sorted(found, key=place)


def place(row: Row) -> tuple[bool, str]:
    """Where a job stands in the list."""
    return not row["starred"], row["name"]


def mark_of(row: Row) -> str:
    """The place of a job as a text: its name, a starred one's after a ``*``."""
    return f"*{row['name']}" if row["starred"] else str(row["name"])


def placed(mark: str) -> tuple[bool, str]:
    """The place that a text names."""
    return not mark.startswith("*"), mark.removeprefix("*")


def line(judged: Row, rest: Row) -> JobLine:
    """A job in the list; its strip comes later."""
    return JobLine(
        id=judged["id"],
        name=judged["name"],
        description=rest["description"],
        owner=judged["owner"],
        tags=tuple(json.loads(judged["tags"])),
        queue=judged["queue"],
        starred=judged["starred"],
        health=Health(judged["health"]),
        next_at=rest["next_at"],
        schedules=rest["schedules"],
    )
