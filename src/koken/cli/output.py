"""Printing: colours where a terminal shows them, tables that fit, JSON for programs.

Console and state look alike everywhere: a colour, a glyph and a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from koken.model.run import Run
from koken.views import runwords, words
from koken.views.marks import of_run

STYLES = {
    "blocked": "bright_black",
    "ready": "",
    "running": "blue",
    "waiting": "magenta",
    "retry": "yellow",
    "succeeded": "green",
    "failed": "bold red",
    "skipped": "bright_black",
    "cancelled": "bright_black",
    "cancelling": "bright_black",
    "acknowledged": "red dim",
    "compensating": "dark_orange",
    "idle": "bright_black",
    "planned": "",
}
"""The colour of each look. Red stays where a person must act."""
DIM = "dim"
GAP = "  "
NARROWEST = 8
"""Columns that a cell keeps when it must give way."""
LONGEST_WORD = 40
BAR = 10


class Shown(Protocol):
    """What has a JSON form."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        ...


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; ``gives`` says that it may be cut when the line is too long.

    One that ``wraps`` goes on in the next line instead.
    """

    title: str
    gives: bool = False
    right: bool = False
    wraps: bool = False


class Screen(Console):
    """A terminal whose reader may leave at any time."""

    def on_broken_pipe(self) -> None:
        """Leave as well; rich would call it a failure."""
        raise BrokenPipeError


def console() -> Screen:
    """The terminal. Without one there is no colour; NO_COLOR is obeyed; no line is wrapped."""
    return Screen(
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def say(*parts: Text | str | tuple[str, str]) -> None:
    """Print a line."""
    console().print(Text.assemble(*parts))


def as_json(value: Any) -> None:
    """Print a value for programs."""
    print(words.dump(value))


def items(found: Iterable[Shown], following: str | None = None) -> None:
    """Print a list for programs; ``following`` is where its next page begins, if there is one."""
    as_json({"items": [each.to_json() for each in found], "next": following})


def say_more(following: str | None) -> None:
    """Tell people where the next page of a list begins, if there is one."""
    if following is not None:
        say((f"There may be more: --before {following}", DIM))


def style_of(run: Run[Any]) -> str:
    """The colour of a run's state."""
    return STYLES[of_run(run).look]


def state(run: Run[Any]) -> Text:
    """Glyph and word of a run's state, in its colour."""
    return Text(f"{runwords.glyph(run)} {runwords.word(run)}", style_of(run))


def titled(run: Run[Any]) -> Text:
    """``greet 42  ✓``, with what follows left to the caller."""
    mark = Text(f"{runwords.glyph(run)} ", style_of(run))
    return Text.assemble((runwords.called(run), "bold"), GAP, mark)


def table(columns: Sequence[Column], rows: Sequence[Sequence[Text | str] | Text]) -> None:
    """Print rows under their titles, at most as wide as the terminal (80 without one).

    A row that is a text alone stands across all columns. A column that wraps goes on below.
    """
    titles = [Text(column.title, DIM) for column in columns]
    cells = [row if isinstance(row, Text) else [as_text(cell) for cell in row] for row in rows]
    whole = [titles, *(row for row in cells if isinstance(row, list))]
    widths = [max(row[place].cell_len for row in whole) for place in range(len(columns))]
    long = [longest_word(row[place] for row in whole) for place in range(len(columns))]
    fit(widths, columns, get_terminal_size((80, 24)).columns, long)
    screen = console()
    for row in [titles, *cells]:
        if isinstance(row, Text):
            screen.print(row)
        else:
            for part in wrapped(columns, row, widths):
                screen.print(line(columns, part, widths))


def wrapped(
    columns: Sequence[Column], row: Sequence[Text], widths: Sequence[int]
) -> list[list[Text]]:
    """A row as the lines that it takes: one, or more where a column that wraps is too narrow."""
    parts = [
        list(cell.wrap(console(), width)) if column.wraps and cell.cell_len > width else [cell]
        for column, cell, width in zip(columns, row, widths, strict=True)
    ]
    return [
        [part[place] if place < len(part) else Text() for part in parts]
        for place in range(max(map(len, parts)))
    ]


def as_text(cell: Text | str) -> Text:
    """A cell, on one line."""
    return cell if isinstance(cell, Text) else Text(words.plain(cell))


def fit(
    widths: list[int], columns: Sequence[Column], room: int, words_of: Sequence[int] = ()
) -> None:
    """Take from the widest column that gives until all fit; a word of one that wraps stays whole.

    ``words_of`` is the longest word of each column.
    """
    least = [
        max(NARROWEST, words_of[place]) if column.wraps and words_of else NARROWEST
        for place, column in enumerate(columns)
    ]
    over = sum(widths) + len(GAP) * (len(widths) - 1) - room
    while over > 0:
        giving = [
            place
            for place, column in enumerate(columns)
            if (column.gives or column.wraps) and widths[place] > least[place]
        ]
        if not giving:
            return
        widths[max(giving, key=lambda place: widths[place])] -= 1
        over -= 1


def longest_word(cells: Iterable[Text]) -> int:
    """The width of the longest word, up to half a narrow terminal."""
    return min(
        LONGEST_WORD,
        max(Text(word).cell_len for cell in cells for word in [*cell.plain.split(), ""]),
    )


def line(columns: Sequence[Column], row: Sequence[Text], widths: Sequence[int]) -> Text:
    """One row of a table."""
    whole = Text()
    for column, cell, width in zip(columns, row, widths, strict=True):
        cut = cell.copy()
        cut.truncate(width, overflow="ellipsis")
        space = " " * (width - cut.cell_len)
        whole.append_text(Text.assemble(space, cut, GAP) if column.right else cut)
        if not column.right:
            whole.append(space + GAP)
    whole.rstrip()
    return whole


def bar(percent: int) -> str:
    """``███████░░░ 71 %``."""
    full = round(BAR * min(max(percent, 0), 100) / 100)
    return f"{'█' * full}{'░' * (BAR - full)} {percent} %"
