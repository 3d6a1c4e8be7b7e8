"""The lines of a log as they are drawn: their colours, levels, and where an attempt begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from koken.views.logpages import Sieve
from koken.views.retries import Retries
from koken.views.silent import Silent
from koken.views.timeline import LOOKS
from koken.views.treelogs import Said
from koken.web.console import ansi
from koken.web.console.pages import environment
from koken.web.console.timetags import clock

LOUD = ("warning", "error", "critical")
"""Levels that are told in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line as it is drawn."""

    said: Said
    pieces: Sequence[tuple[str, str]]
    level: bool = False
    """Whether its level is told: it is telling, and the line does not go on one that is told."""
    begins: str = ""
    """The attempt that begins with it, in words."""
    silent: str = ""
    """The last attempt at its run, where that has printed nothing, in words."""


def drawn(
    lines: Sequence[Said],
    sieve: Sieve,
    known: Mapping[int, int] | None = None,
    again: Retries | None = None,
    after: Mapping[int, Silent] | None = None,
) -> list[Row]:
    """Lines as they are drawn.

    ``known``: the attempts at runs that are told already; ``again``: what people have let go again;
    ``after``: by run the attempt that comes after its last line without one of its own.
    """
    tries, again, after = dict(known or {}), again or {}, after or {}
    several = {said.run_id for said in lines if said.tries} | after.keys()
    ends = {said.run_id: said.line.id for said in lines}
    found: list[Row] = []
    last: tuple[int, str, datetime | None] = (0, "", None)
    for said in lines:
        run, line = said.run_id, said.line
        another = tries.get(run) != said.tries and (run in several or run in tries)
        tries[run] = said.tries
        this = (run, line.level, line.at)
        level, last = line.level in LOUD and last != this, this
        late = after.get(run) if line.id == ends[run] else None
        found.append(
            Row(
                said=said,
                pieces=lit(ansi.pieces(line.text), sieve.text),
                level=level,
                begins=attempt(run, said.tries + 1, again) if another else "",
                silent=f"{attempt(run, late.number, again)}: {LOOKS[late.outcome].word}, "
                "and has printed nothing"
                if late
                else "",
            )
        )
    return found


def attempt(run: int, number: int, again: Retries) -> str:
    """``attempt 3, retried by mira``."""
    retried = again.get((run, number - 1))
    return f"attempt {number}" + (f", {retried.told}" if retried else "")


def lit(pieces: Sequence[ansi.Piece], text: str) -> Sequence[ansi.Piece]:
    """Pieces in which what is searched for has a class of its own."""
    if not text:
        return pieces
    hit = re.compile(f"({re.escape(text)})", re.IGNORECASE)
    return [
        (f"{classes} hit".lstrip() if place % 2 else classes, part)
        for classes, whole in pieces
        for place, part in enumerate(hit.split(whole))
        if part
    ]


def draw(rows: Sequence[Row], zone: tzinfo, link: Callable[[int], str]) -> str:
    """Rows as HTML; ``link`` is the address of a line."""
    return environment.get_template("logrows.html").render(
        rows=rows,
        marked=0,
        clock=lambda instant: clock(instant, zone),
        link=link,
    )
