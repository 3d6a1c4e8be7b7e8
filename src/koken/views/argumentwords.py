"""Arguments in a query that is typed: the names that jobs declare, and the values that there were.

What is a secret, by its name or as its job's schema says, is never among them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from koken.model.hiding import MASK, masked, secret
from koken.store.database import Database
from koken.views.reading import rows

ARGS = "args."
"""How the word for an argument begins."""
NAME = re.compile(r"\w+")
"""A name that can stand in a query."""
LONGEST = 100
"""Letters of a value."""
DECLARED = """
select k.name as value,
       min(j.name) || case count(*) when 1 then '' else ' and ' || count(*) - 1 || ' more' end
         as what
  from koken.job j
  join koken.job_version v on v.id = j.version_id
 cross join lateral jsonb_object_keys(
   case when jsonb_typeof(v.spec -> 'parameters' -> 'properties') = 'object'
        then v.spec -> 'parameters' -> 'properties' end) k (name)
 where j.workspace_id in (2, (select w.id from koken.workspace w where w.name = $1))
   and j.retired_at is null and strpos(lower(k.name), lower($2)) > 0
 group by k.name
 order by not starts_with(lower(k.name), lower($2)), k.name
"""
# Of the newest runs.
LATELY = """
with lately as materialized (
  select r.args #> $3::text[] as at, r.version_id from koken.run r
   where r.workspace_id = (select w.id from koken.workspace w where w.name = $1)
     and r.parent_id is null and r.id > (select max(id) from koken.run) - 20000
   order by r.id desc limit 2000)
"""
WITHIN = f"""
{LATELY}
select k.name as value, '' as what
  from lately l
 cross join lateral jsonb_object_keys(case when jsonb_typeof(l.at) = 'object' then l.at end)
   k (name)
 where strpos(lower(k.name), lower($2)) > 0
 group by k.name
 order by not starts_with(lower(k.name), lower($2)), k.name
"""
VALUES = f"""
{LATELY}
select x.value, x.version_id, count(*) as n
  from (select l.at #>> '{{}}' as value, l.version_id from lately l
         where jsonb_typeof(l.at) in ('string', 'number', 'boolean')) x
 where length(x.value) <= $4 and strpos(lower(x.value), lower($2)) > 0
 group by x.value, x.version_id
"""
SCHEMAS = """
select v.id, (v.spec -> 'parameters')::text as parameters
  from koken.job_version v where v.id = any($1::int[])
"""


def path_of(word: str) -> Sequence[str]:
    """``args.customer.id`` as the names on the way: ``customer``, ``id``."""
    return word.split(".")[1:]


async def names(
    db: Database, word: str, *, workspace: str, mask: Sequence[str]
) -> list[tuple[str, str]]:
    """The words for arguments that begin like this one, each with whose it is.

    ``mask`` are the words by which names of secrets are told.
    """
    *path, typed = path_of(word)
    if any(secret(name, mask) for name in path):
        return []
    if path:
        found = await rows(db, WITHIN, workspace, typed, path)
    else:
        found = await rows(db, DECLARED, workspace, typed)
    before = ".".join(["args", *path])
    return [
        (f"{before}.{row['value']}", row["what"])
        for row in found
        if NAME.fullmatch(row["value"]) and not secret(row["value"], mask)
    ]


async def values(
    db: Database, word: str, typed: str, *, workspace: str, mask: Sequence[str]
) -> list[tuple[str, str]]:
    """The values of an argument in which ``typed`` is, the most frequent first."""
    path = path_of(word)
    found = await rows(db, VALUES, workspace, typed, path, LONGEST)
    versions = await rows(db, SCHEMAS, list({row["version_id"] for row in found}))
    schemas = {row["id"]: json.loads(row["parameters"] or "{}") for row in versions}
    counts = Counter[str]()
    for row in found:
        if shown(path, row["value"], mask, schemas[row["version_id"]]):
            counts[row["value"]] += row["n"]
    told = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [(value, f"{number:,} of the newest") for value, number in told]


def shown(path: Sequence[str], value: str, mask: Sequence[str], schema: Mapping[str, Any]) -> bool:
    """Whether a value that stands there among arguments is no secret."""
    plain: Any = value
    for name in reversed(path):
        plain = {name: plain}
    found = masked(plain, mask, schema)
    for name in path:
        if found == MASK:
            return False
        found = found[name]
    return bool(found != MASK)
