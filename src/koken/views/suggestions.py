"""What may stand next in a query: words, and the values of a word that there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from koken.model.runparts import TriggerKind
from koken.store.database import Database
from koken.views import marks
from koken.views.argumentwords import ARGS, names, values
from koken.views.query import WORDS, quoted
from koken.views.reading import rows
from koken.views.standings import Standing

MOST = 16
RECENT = 2000
"""Of so many of the newest runs values are suggested that stand in no list of their own."""
MEANINGS = {
    "job": "the job's name",
    "state": "how it stands",
    "queue": "where it waits",
    "trigger": "what started it",
    "by": "who started it",
    "subject": "what it acts on",
    "key": "its idempotency key",
    "error": "in the error",
    ARGS: "an argument",
    "id": "its number",
    "bulk": "what a bulk is about",
    "since": "started after",
    "until": "started before",
}
TIMES = {
    "15m": "the last 15 minutes",
    "1h": "the last hour",
    "2h": "the last 2 hours",
    "12h": "the last 12 hours",
    "24h": "the last day",
    "7d": "the last week",
    "30d": "the last month",
}
STATES = {each.value: marks.of(each).glyph for each in Standing} | {
    "open": "failures that nobody has acknowledged",
    "acknowledged": "failures that somebody has",
    "live": "all that has not ended",
    "ended": "all that has",
}
KINDS = dict.fromkeys((kind.value for kind in TriggerKind), "")
JOBS = """
select j.name as value, q.name as what
  from koken.job j
  join koken.job_version v on v.id = j.version_id
  join koken.queue q on q.id = v.queue_id
 where j.workspace_id in (2, (select w.id from koken.workspace w where w.name = $1))
   and j.retired_at is null and strpos(lower(j.name), lower($2)) > 0
 order by not starts_with(lower(j.name), lower($2)), j.name
 limit $3
"""
QUEUES = """
select q.name as value, case when q.paused_at is null then '' else 'paused' end as what
  from koken.queue q
 where exists (select from koken.job_version v join koken.job j on j.id = v.job_id
                where v.queue_id = q.id and j.workspace_id in (
                  2, (select w.id from koken.workspace w where w.name = $1)))
   and strpos(lower(q.name), lower($2)) > 0
 order by q.name
 limit $3
"""
VALUES = """
select x.value, count(*)::text || ' of the newest' as what
  from (select {column} as value from koken.run r
         where r.workspace_id = (select w.id from koken.workspace w where w.name = $1)
           and r.parent_id is null and r.id > (select max(id) from koken.run) - 20000
         order by r.id desc limit {recent}) x
 where strpos(lower(x.value), lower($2)) > 0
 group by x.value
 order by count(*) desc, x.value
 limit $3
"""
COLUMNS = {
    "by": "r.trigger_by",
    "subject": "r.subject",
    "key": "r.idempotency_key",
    "error": "r.error ->> 'type'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What may stand in place of what is typed."""

    text: str
    """The whole word, with its value."""
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestions:
    """What may stand in a query from one place to another."""

    start: int
    end: int
    items: list[Suggestion]


async def suggestions(
    db: Database, text: str, at: int, *, workspace: str, mask: Sequence[str]
) -> Suggestions:
    """What may stand in the word that ends at ``at``; no secret may, which ``mask`` tells."""
    at = min(max(at, 0), len(text))
    typed = last_word(text[:at])
    word, colon, value = typed.partition(":")
    if not colon:
        found = await beginnings(db, typed, workspace, mask)
    else:
        before, comma, last = value.rpartition(",")
        kept = f"{word}:{before}{comma}"
        there = await values_of(db, word, last.lstrip('"'), workspace, mask)
        found = [
            Suggestion(text=f"{kept}{quoted(each)}", what=what)
            for each, what in there
            if each not in before.split(",")
        ]
    return Suggestions(start=at - len(typed), end=at, items=found[:MOST])


def last_word(text: str) -> str:
    """The word in which a query ends; what stands in quotes is one, also where it is not closed."""
    begins, quoted_now, place = 0, False, 0
    while place < len(text):
        sign = text[place]
        if sign == '"':
            quoted_now = not quoted_now
        elif quoted_now and sign == "\\":
            place += 1
        elif not quoted_now and sign.isspace():
            begins = place + 1
        place += 1
    return text[begins:]


async def beginnings(
    db: Database, typed: str, workspace: str, mask: Sequence[str]
) -> list[Suggestion]:
    """Words that begin so, arguments, and jobs in whose names it is."""
    if typed.startswith(ARGS):
        known = await names(db, typed, workspace=workspace, mask=mask)
        return [Suggestion(text=f"{word}:", what=what) for word, what in known]
    found = [
        Suggestion(text=word if word == ARGS else f"{word}:", what=MEANINGS[word])
        for word in (*WORDS, ARGS)
        if word.startswith(typed.lower())
    ]
    if typed:
        rest = await rows(db, JOBS, workspace, typed, MOST)
        found += [Suggestion(text=f"job:{quoted(row['value'])}", what=row["what"]) for row in rest]
    return found


async def values_of(
    db: Database, word: str, typed: str, workspace: str, mask: Sequence[str]
) -> Iterable[tuple[str, str]]:
    """The values of a word in which ``typed`` is, and what there is to say of each."""
    match word:
        case "state":
            return beginning(STATES, typed)
        case "trigger":
            return beginning(KINDS, typed)
        case "since" | "until":
            return beginning(TIMES, typed)
        case "job":
            text = JOBS
        case "queue":
            text = QUEUES
        case _ if word in COLUMNS:
            text = VALUES.format(column=COLUMNS[word], recent=RECENT)
        case _ if word.startswith(ARGS):
            return await values(db, word, typed, workspace=workspace, mask=mask)
        case _:
            return []
    return [(row["value"], row["what"]) for row in await rows(db, text, workspace, typed, MOST)]


def beginning(known: dict[str, str], typed: str) -> Iterable[tuple[str, str]]:
    """Those of a few known values that begin so."""
    return [(value, what) for value, what in known.items() if value.startswith(typed.lower())]
