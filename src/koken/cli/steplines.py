"""The steps of a run as lines: glyph, name, how far, how long, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import Any

from rich.text import Text

from koken.cli import output, telling
from koken.cli.output import DIM, GAP, STYLES
from koken.model.run import Run
from koken.model.states import State
from koken.views import clocks, runwords, words
from koken.views.steprows import FAILED, StepRow

MOST = 40
"""Steps that are listed one by one; of more, those that want a look."""
QUIET = (State.SUCCEEDED, State.SKIPPED, State.BLOCKED, State.READY, None)
LOOKED_AT = 20


def draw_steps(rows: Sequence[StepRow], run: Run[Any]) -> None:
    """A line for each step; those that are not begun share the last ones."""
    listed = list(rows)
    if len(rows) > MOST:
        telling = [row for row in rows if row.state not in QUIET]
        telling.sort(key=lambda row: row.code != FAILED)
        listed = telling[:LOOKED_AT]
    begun = [row for row in listed if row.attempt or row.state not in (State.BLOCKED, None)]
    waiting = [row for row in listed if row not in begun]
    named = [*begun, *waiting[:1]]
    name = max((Text(words.plain(row.name)).cell_len for row in named), default=0)
    how = max((len(far(row)) for row in named), default=0)
    for row in begun:
        output.say(line(row, name, how, run.id))
    if waiting:
        draw_waiting(waiting, name, how)
    if len(rows) > len(listed):
        told = {row.no for row in listed}
        left = [row for row in rows if row.no not in told]
        output.say(f"{GAP}… {len(left):,} more: ", counts(left), (f"  koken steps {run.id}", DIM))


def line(row: StepRow, name: int, how: int, of: int | None) -> Text:
    """``of`` is the run whose step it is: ``✓ files                 0:12   214 files``."""
    mark = row.mark
    whole = Text.assemble(
        GAP,
        (f"{mark.glyph} ", STYLES[mark.look]),
        padded(row.name, name),
        f"   {far(row):>{how}}   {took(row):>8}   ",
        said(row),
    )
    if row.state is State.FAILED and row.run_id is not None:
        own = row.undoing or row.recorded
        whole.append(f"   koken logs {row.run_id if own else of}", DIM)
        whole.append("" if own else f" {words.plain(row.name)}", DIM)
    whole.rstrip()
    return whole


def padded(name: str, width: int) -> str:
    """A name as wide as all are."""
    shown = words.plain(name)
    return shown + " " * (width - Text(shown).cell_len)


def took(row: StepRow) -> str:
    """How long it took; ``–`` where it never went."""
    return telling.watch_clock(None if row.state is State.SKIPPED else row.took)


def far(row: StepRow) -> str:
    """Items that are good of all; attempts of those that it has, where one has failed."""
    if row.items is not None:
        return f"{row.items.good:,}/{row.items.made:,}"
    return f"{row.attempt}/{row.max_attempts}" if row.tried_again else ""


def said(row: StepRow) -> Text:
    """What came of a step, or what it does; then the run that it stands for."""
    told = outcome(row)
    if row.detail:
        told.append(f"{GAP if told else ''}{words.plain(row.detail)}", DIM)
    if row.kept_from is not None:
        told.append(f"{GAP if told else ''}kept from run {row.kept_from}", DIM)
    if row.child is not None and row.child.called not in told.plain:
        told.append(f"{GAP if told else ''}→ {words.plain(row.child.called)}", DIM)
    return told


def outcome(row: StepRow) -> Text:
    """What came of a step, or what it does."""
    style = STYLES[row.mark.look]
    if row.state is State.SUCCEEDED:
        return Text(words.plain(row.result))
    if row.state is State.FAILED:
        return Text(words.plain(row.reason), style)
    if row.state is not None and row.state.ended:
        reason = f": {words.plain(row.reason)}" if row.reason else ""
        return Text(f"{row.state.value}{reason}", DIM)
    told = [row.mark.word]
    if row.state is State.RUNNING:
        told[0] += f" on {row.worker}" if row.worker else ""
    if row.percent is not None:
        told.append(output.bar(row.percent))
    told.append(words.plain(row.message))
    told.append(held(row))
    return Text(GAP.join(part for part in told if part), style)


def held(row: StepRow) -> str:
    """``publish_site until 04:30:00 (gate 30 4 * * *)``."""
    if row.wait is None:
        return ""
    what = words.plain(row.wait.wait_for or "") if row.mark.word != "running" else ""
    until = f"until {telling.time_of(row.wait.until)}" if row.wait.until else ""
    if row.wait.until and row.wait.cause in clocks.GIVES_UP:
        until = clocks.by_then(row.wait.cause, row.wait.until, datetime.now(UTC))
    gate = f"({row.gate})" if row.gate and row.wait.cause == "gate" else ""
    return " ".join(part for part in (what, until, gate) if part)


def draw_waiting(rows: Sequence[StepRow], name: int, how: int) -> None:
    """``· publish               –   · site   · apologise``."""
    first, *others = rows
    room = get_terminal_size((80, 24)).columns
    whole = Text.assemble(
        f"{GAP}{first.mark.glyph} {padded(first.name, name)}   {'':>{how}}   {'–':>8}",
        style=DIM,
    )
    for row in others:
        part = f"   {row.mark.glyph} {words.plain(row.name)}"
        if whole.cell_len + Text(part).cell_len > room:
            output.say(whole)
            whole, part = Text(style=DIM), f"{GAP}{part.lstrip()}"
        whole.append(part)
    output.say(whole)


def counts(rows: Sequence[StepRow]) -> Text:
    """``9,000 ✓  970 ◌``."""
    marks = Counter((row.mark.glyph, row.mark.look) for row in rows)
    parts = [(f"{number:,} {glyph}", STYLES[look]) for (glyph, look), number in marks.most_common()]
    return Text(GAP).join(Text(text, style) for text, style in parts)


def draw_undone(rows: Sequence[StepRow]) -> None:
    """The runs that undo what the steps did."""
    name = max((Text(words.plain(row.name)).cell_len for row in rows), default=0)
    how = max((len(far(row)) for row in rows), default=0)
    for row in rows[:MOST]:
        output.say(line(row, name, how, row.run_id))


def header(run: Run[Any], now: datetime) -> Text:
    """``nightly 412  ✗ failed   started by anna · day=2026-11-30 · 6 h 41 min · version 3``."""
    facts = [runwords.started_by(run), words.arguments(run.args)]
    facts.append(clocks.length_of(runwords.begun(run), run.ended_at or now))
    facts.append(f"version {run.version}")
    if run.origin is not None:
        facts.append(f"{run.origin.verb} of run {run.origin.id}")
    told = " · ".join(fact for fact in facts if fact and fact != "–")
    return Text.assemble(
        output.titled(run), (runwords.word(run), output.style_of(run)), "   ", (told, DIM)
    )
