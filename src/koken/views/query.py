"""The query language of lists: ``job:report state:failed since:2h error:Timeout args.user.id:7``.

Words with a colon narrow the list, all of them together; several values of one word, separated by
commas, are alternatives. A bare word is looked for in the job's name. Quotes keep a value whole.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from koken.errors import InvalidArguments
from koken.model.codec import ODD
from koken.model.runparts import TriggerKind
from koken.views import standings
from koken.views.moments import Moment, moment

LARGEST_ID = 2**63 - 1
WHOLE = r'"(?:[^"\\]|\\.)*"'
"""A value in quotes."""
ITEM = rf"(?:{WHOLE}(?![^\s,])|[^\s,]*)"
WORD = re.compile(rf"([A-Za-z_][\w.]*):({ITEM}(?:,{ITEM})*)|({WHOLE}|\S+)")
"""A word of a query: what it is called and its values, or a bare one."""
VALUE = re.compile(rf"{WHOLE}(?![^,])|[^,]*")
"""One of several values."""
HAS = """
exists (select from (
  select coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id))
         #> {}::text[] as found) v
 where jsonb_typeof(v.found) not in ('object', 'array') and v.found #>> '{{}}' = {})
and not exists (select from koken.job_version s
                 where s.id = r.version_id and {} = any(s.secret_arguments))
"""
"""An argument is that. An object or a list is not looked for: it may have a secret in it; nor is
what the job's schema says is one, or has one in it."""


@dataclass(slots=True)
class Conditions:
    """SQL conditions with numbered parameters."""

    parameters: list[Any] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)

    def add(self, clause: str, *values: Any) -> None:
        """A clause in which ``{}`` stands for each value."""
        numbers = []
        for value in values:
            self.parameters.append(value)
            numbers.append(f"${len(self.parameters)}")
        self.clauses.append(clause.format(*numbers))

    @property
    def text(self) -> str:
        """All of them, joined."""
        return " and ".join(self.clauses) or "true"


@dataclass(slots=True)
class Query:
    """What a list is narrowed to."""

    runs: Conditions = field(default_factory=Conditions)
    """On the runs themselves, as ``r``."""
    jobs: Conditions = field(default_factory=Conditions)
    """On their jobs, as ``j``."""
    states: list[frozenset[str]] = field(default_factory=list)
    """How they stand: of each of these, one."""
    since: list[Moment] = field(default_factory=list)
    until: list[Moment] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The conditions on the runs, with how they stand; its parameters are those of ``runs``."""
        return " and ".join([self.runs.text, *map(standings.condition, self.states)])

    @property
    def narrowed(self) -> bool:
        """Whether more is asked of the runs than when they were made."""
        return bool(self.runs.clauses or self.states)


Reader = Callable[[Query, str], None]
"""Adds what the value of a word says."""


def parse(text: str) -> Query:
    """What a query says. Raises ``InvalidArguments`` naming the word."""
    if odd := ODD.search(text):
        raise InvalidArguments(f"the query holds {odd[0]!r}, which PostgreSQL cannot read")
    query = Query()
    for match in WORD.finditer(text):
        word, value, bare = match[1], match[2], match[3]
        if bare is not None:
            query.jobs.add("j.name ilike {}", f"%{escaped(unquoted(bare))}%")
            continue
        if not value:
            raise refused(word, "needs a value, such as job:report")
        narrow(query, word, value)
    return query


def narrow(query: Query, word: str, value: str) -> None:
    """One word of the query, with its value as it is written."""
    if word.startswith("args."):
        path = word.split(".")[1:]
        query.runs.add(HAS, path, plain(unquoted(value)), path[0])
        return
    reader = WORDS.get(word)
    if reader is None:
        close = difflib.get_close_matches(word, SPELLED, n=1)
        hint = f" Did you mean {SPELLED[close[0]]}:?" if close else f" There are {ALL}."
        raise refused(word, f"is no word of the query.{hint}")
    reader(query, value)


def plain(value: str) -> str:
    """A JSON text without its quotes, for a comparison as text."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, str) else value


def unquoted(value: str) -> str:
    """Without the quotes around it."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value


def values(value: str) -> list[str]:
    """The alternatives of a value: between its commas, but for those in quotes."""
    found, at = [], 0
    while True:
        match = VALUE.match(value, at)
        assert match is not None
        found.append(unquoted(match[0]))
        at = match.end() + 1
        if at > len(value):
            return found


def said(text: str, word: str) -> list[list[str]]:
    """What a query says by one word, each time: the alternatives."""
    return [values(match[2]) for match in WORD.finditer(text) if match[1] == word]


def says(text: str, word: str, value: str) -> bool:
    """Whether a query narrows to one value of a word, among whatever else."""
    return [value] in said(text, word)


def without(text: str, word: str, value: str | None = None) -> str:
    """A query without what it says by one word; with a ``value`` only where it says that alone."""
    kept = [
        match[0]
        for match in WORD.finditer(text)
        if match[1] != word or (value is not None and values(match[2]) != [value])
    ]
    return " ".join(kept)


def having(text: str, word: str, value: str) -> str:
    """A query that narrows to a value of a word besides."""
    return f"{text} {asking(**{word: value})}".strip()


def asking(**words: str | Sequence[str]) -> str:
    """The query that narrows to these: a value for each word, or alternatives."""
    told = []
    for word, value in words.items():
        alternatives = [value] if isinstance(value, str) else value
        told.append(f"{word}:{','.join(map(quoted, alternatives))}")
    return " ".join(told)


def quoted(value: str) -> str:
    """As a value of the query language; in quotes where it would not stay whole."""
    if re.fullmatch(r"[\w.:/@+-]+", value):
        return value
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def escaped(value: str) -> str:
    """For use inside a ``like`` pattern."""
    return re.sub(r"([\\%_])", r"\\\1", value)


def refused(word: str, why: str) -> InvalidArguments:
    """The error for a bad word."""
    return InvalidArguments(f"{word}: {why}", {word: why})


def among(known: Collection[str], word: str, value: str) -> list[str]:
    """The alternatives of a value. Raises ``InvalidArguments`` for another than there are."""
    found = values(value)
    for each in found:
        if each not in known:
            raise refused(word, f"{each!r} is no {word}; there are {', '.join(known)}")
    return found


def one_of(column: str) -> Reader:
    """A word whose values are alternatives for ``column``."""

    def read(query: Query, value: str) -> None:
        query.runs.add(f"{column} = any({{}}::text[])", values(value))

    return read


def job(query: Query, value: str) -> None:
    """``job:report,import``."""
    query.jobs.add("j.name = any({}::text[])", values(value))


def queue(query: Query, value: str) -> None:
    """``queue:default``."""
    ids = "select q.id from koken.queue q where q.name = any({}::text[])"
    query.runs.add(f"r.queue_id = any(array({ids}))", values(value))


def state(query: Query, value: str) -> None:
    """``state:failed``; ``live`` and ``ended`` stand for several, ``open`` for some failures."""
    query.states.append(frozenset(among(standings.WORDS, "state", value)))


def trigger(query: Query, value: str) -> None:
    """``trigger:schedule,api``."""
    query.runs.add("r.trigger_kind = any({}::text[])", among(list(TriggerKind), "trigger", value))


def since(query: Query, value: str) -> None:
    """``since:2h`` or ``since:2026-03-08T00:00:00Z``."""
    query.since.append(moment("since", unquoted(value)))


def until(query: Query, value: str) -> None:
    """``until:2h`` or ``until:2026-03-08T00:00:00Z``."""
    query.until.append(moment("until", unquoted(value)))


def error(query: Query, value: str) -> None:
    """``error:Timeout``: in the error's type or message."""
    pattern = f"%{escaped(unquoted(value))}%"
    query.runs.add(
        "(r.error ->> 'type' ilike {} or r.error ->> 'message' ilike {})", pattern, pattern
    )


def is_id(text: str) -> bool:
    """Whether a text is a number that a run may have."""
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_ID


def number(query: Query, value: str) -> None:
    """``id:412,413``."""
    ids = values(value)
    if not all(is_id(each) for each in ids):
        raise refused("id", f"{value!r} is no run's number")
    query.runs.add("r.id = any({}::bigint[])", [int(each) for each in ids])


def bulk(query: Query, value: str) -> None:
    """``bulk:3``: what a bulk is about."""
    ids = values(value)
    if not all(is_id(each) for each in ids):
        raise refused("bulk", f"{value!r} is no bulk's number")
    members = "select x.run_id from koken.bulk_run x where x.bulk_id = any({}::bigint[])"
    query.runs.add(f"r.id = any(array({members}))", [int(each) for each in ids])


WORDS: dict[str, Reader] = {
    "job": job,
    "state": state,
    "queue": queue,
    "trigger": trigger,
    "by": one_of("r.trigger_by"),
    "subject": one_of("r.subject"),
    "key": one_of("r.idempotency_key"),
    "error": error,
    "id": number,
    "bulk": bulk,
    "since": since,
    "until": until,
}
SPELLED = {word: word for word in WORDS} | {"args": "args.NAME"}
"""All words as they are written."""
ALL = ", ".join(SPELLED.values())
