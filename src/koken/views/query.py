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
from datetime import datetime
from typing import Any

from koken.errors import InvalidArguments
from koken.model.duration import seconds
from koken.model.states import State

LARGEST_ID = 2**63 - 1
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


def parse(query: str, conditions: Conditions) -> None:
    """Add what ``query`` says to ``conditions``. Raises ``InvalidArguments`` naming the word."""
    for match in WORD.finditer(query):
        word, value, bare = match[1], match[2], match[3]
        if bare is not None:
            conditions.add("j.name ilike {}", f"%{escaped(unquoted(bare))}%")
            continue
        if not value:
            raise refused(word, "needs a value, such as job:report")
        narrow(conditions, word, unquoted(value))


def narrow(conditions: Conditions, word: str, value: str) -> None:
    """One word of the query."""
    if word.startswith("args."):
        conditions.add(
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
    reader(conditions, value)


def plain(value: str) -> str:
    """A JSON text without its quotes, for a comparison as text."""
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, str) else value


def unquoted(value: str) -> str:
    """Without the quotes around it."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value


def escaped(value: str) -> str:
    """For use inside a ``like`` pattern."""
    return re.sub(r"([\\%_])", r"\\\1", value)


def refused(word: str, why: str) -> InvalidArguments:
    """The error for a bad word."""
    return InvalidArguments(f"{word}: {why}", {word: why})


def one_of(column: str) -> Callable[[Conditions, str], None]:
    """A word whose values are alternatives for ``column``."""

    def read(conditions: Conditions, value: str) -> None:
        conditions.add(f"{column} = any({{}}::text[])", value.split(","))

    return read


def state(conditions: Conditions, value: str) -> None:
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
    conditions.add("r.state = any({}::text[])", states)


def instant(word: str, comparison: str) -> Callable[[Conditions, str], None]:
    """``since:2h`` or ``since:2026-03-08T00:00:00Z``."""

    def read(conditions: Conditions, value: str) -> None:
        try:
            ago = seconds(value, name=word)
        except ValueError:
            conditions.add(f"r.created_at {comparison} {{}}", moment(word, value))
        else:
            clause = f"r.created_at {comparison} koken.now() - make_interval(secs => {{}})"
            conditions.add(clause, ago)

    return read


def moment(word: str, value: str) -> datetime:
    """An instant of a query; without an offset it is in UTC."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise refused(word, f"{value!r} is neither a duration like 2h nor an instant") from None
    return found if found.tzinfo else datetime.fromisoformat(f"{found.isoformat()}+00:00")


def error(conditions: Conditions, value: str) -> None:
    """``error:Timeout``: in the error's type or message."""
    pattern = f"%{escaped(value)}%"
    conditions.add(
        "(r.error ->> 'type' ilike {} or r.error ->> 'message' ilike {})", pattern, pattern
    )


def is_id(text: str) -> bool:
    """Whether a text is a number that a run may have."""
    return text.isascii() and text.isdigit() and int(text) <= LARGEST_ID


def number(conditions: Conditions, value: str) -> None:
    """``id:412,413``."""
    ids = value.split(",")
    if not all(is_id(each) for each in ids):
        raise refused("id", f"{value!r} is no run's number")
    conditions.add("r.id = any({}::bigint[])", [int(each) for each in ids])


WORDS: dict[str, Callable[[Conditions, str], None]] = {
    "job": one_of("j.name"),
    "state": state,
    "queue": one_of("q.name"),
    "trigger": one_of("r.trigger_kind"),
    "by": one_of("r.trigger_by"),
    "subject": one_of("r.subject"),
    "key": one_of("r.idempotency_key"),
    "error": error,
    "id": number,
    "since": instant("since", ">="),
    "until": instant("until", "<"),
}
