"""The query language of lists: ``job:report state:failed since:2h error:Timeout args.user.id:7``.

Words with a colon narrow the list, all of them together; several values of one word, separated by
commas, are alternatives. A bare word is looked for in the job's name.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from koken.errors import InvalidArguments
from koken.model.codec import ODD
from koken.model.duration import seconds
from koken.model.states import State

LARGEST_ID = 2**63 - 1
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
Moment = datetime | timedelta
"""An instant, or how long ago."""
WORD = re.compile(r'([A-Za-z_][\w.]*):("(?:[^"\\]|\\.)*"|\S*)|("(?:[^"\\]|\\.)*"|\S+)')


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
    since: list[Moment] = field(default_factory=list)
    until: list[Moment] = field(default_factory=list)


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
        narrow(query, word, unquoted(value))
    return query


def narrow(query: Query, word: str, value: str) -> None:
    """One word of the query."""
    if word.startswith("args."):
        query.runs.add(
            "coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id))"
            " #>> {}::text[] = {}",
            word.split(".")[1:],
            plain(value),
        )
        return
    reader = WORDS.get(word)
    if reader is None:
        close = difflib.get_close_matches(word, WORDS, n=1)
        hint = f" Did you mean {close[0]}:?" if close else f" There are {', '.join(WORDS)}."
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


def without(text: str, word: str) -> str:
    """A query without what it says by one word."""
    kept = [match[0] for match in WORD.finditer(text) if match[1] != word]
    return " ".join(kept)


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


def one_of(column: str) -> Reader:
    """A word whose values are alternatives for ``column``."""

    def read(query: Query, value: str) -> None:
        query.runs.add(f"{column} = any({{}}::text[])", value.split(","))

    return read


def job(query: Query, value: str) -> None:
    """``job:report,import``."""
    query.jobs.add("j.name = any({}::text[])", value.split(","))


def queue(query: Query, value: str) -> None:
    """``queue:default``."""
    ids = "select q.id from koken.queue q where q.name = any({}::text[])"
    query.runs.add(f"r.queue_id = any(array({ids}))", value.split(","))


def state(query: Query, value: str) -> None:
    """``state:failed``; ``live`` and ``ended`` stand for several."""
    states: list[str] = []
    for each in value.split(","):
        if each == "live":
            states += [known for known in State if not known.ended]
        elif each == "ended":
            states += [known for known in State if known.ended]
        elif each in set(State):
            states.append(each)
        else:
            raise refused(
                "state", f"{each!r} is no state; there are {', '.join(State)}, live, ended"
            )
    query.runs.add("r.state = any({}::text[])", states)


def since(query: Query, value: str) -> None:
    """``since:2h`` or ``since:2026-03-08T00:00:00Z``."""
    query.since.append(moment("since", value))


def until(query: Query, value: str) -> None:
    """``until:2h`` or ``until:2026-03-08T00:00:00Z``."""
    query.until.append(moment("until", value))


def moment(word: str, value: str) -> Moment:
    """How long ago, or an instant; without an offset it is in UTC."""
    try:
        return timedelta(seconds=seconds(value, name=word))
    except (ValueError, OverflowError):
        pass
    try:
        found = datetime.fromisoformat(value)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise refused(word, f"{value!r} is neither a duration like 2h nor an instant") from None


def before(moment: Moment, now: datetime) -> datetime:
    """The instant of a moment; what is further back than time goes is its beginning."""
    if isinstance(moment, datetime):
        return moment
    return now - min(moment, now - BEGINNING)


def error(query: Query, value: str) -> None:
    """``error:Timeout``: in the error's type or message."""
    pattern = f"%{escaped(value)}%"
    query.runs.add(
        "(r.error ->> 'type' ilike {} or r.error ->> 'message' ilike {})", pattern, pattern
    )


def is_id(text: str) -> bool:
    """Whether a text is a number that a run may have."""
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_ID


def number(query: Query, value: str) -> None:
    """``id:412,413``."""
    ids = value.split(",")
    if not all(is_id(each) for each in ids):
        raise refused("id", f"{value!r} is no run's number")
    query.runs.add("r.id = any({}::bigint[])", [int(each) for each in ids])


WORDS: dict[str, Reader] = {
    "job": job,
    "state": state,
    "queue": queue,
    "trigger": one_of("r.trigger_kind"),
    "by": one_of("r.trigger_by"),
    "subject": one_of("r.subject"),
    "key": one_of("r.idempotency_key"),
    "error": error,
    "id": number,
    "since": since,
    "until": until,
}
