"""The demo's screen: lines as they come and, on a terminal, a status that moves beneath them.

On a terminal there are colours, glyphs and the status; elsewhere plain text with the same words.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

WIDTH = 80
INDENT = 25
"""Where the text of a line begins: after its time, glyph (on a terminal) and word."""
BAR = 24
QUARTER = 25


@dataclass(frozen=True, slots=True)
class Look:
    """How a kind of line looks on a terminal."""

    glyph: str
    style: str


LOOKS = {
    "ready": Look("✓", "green"),
    "tick": Look("◷", "cyan"),
    "running": Look("●", "blue"),
    "succeeded": Look("✓", "green"),
    "failed": Look("✗", "bold red"),
    "lost": Look("✗", "bold red"),
    "waiting": Look("↻", "yellow"),
    "skipped": Look("–", "bright_black"),
    "cancelled": Look("⊘", "bright_black"),
    "airline": Look("▸", "magenta"),
    "warning": Look("!", "yellow"),
}
OTHER = Look(" ", "default")


class Screen:
    """Where the demo says what happens."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, emoji=False, soft_wrap=True)
        self.live = Live(console=self.console, auto_refresh=False, transient=True)
        self.quarter = 0

    @property
    def terminal(self) -> bool:
        """Whether somebody may be watching."""
        return self.console.is_terminal

    @contextmanager
    def on(self) -> Iterator[Screen]:
        """While the demo goes; afterwards the cursor is back."""
        if not self.terminal:
            yield self
            return
        with self.live:
            yield self

    def heading(self, text: str) -> None:
        """A line that begins a part."""
        self.console.print()
        self.console.print(Text(text, style="bold"))

    def say(self, text: str = "") -> None:
        """Plain words, wrapped."""
        for line in textwrap.wrap(text, WIDTH) or [""]:
            self.console.print(Text(line))

    def line(self, word: str, text: str, at: datetime | None = None) -> None:
        """Something that happened: what, when, and how it stands."""
        look = LOOKS.get(word, OTHER)
        time = f"{at.astimezone():%H:%M:%S}" if at else ""
        first, *rest = wrapped(text)
        line = Text(f"  {time:8}  ")
        line.append(f"{look.glyph} {word:9}  " if self.terminal else f"{word:11}  ", look.style)
        self.console.print(line.append(first))
        for more in rest:
            self.console.print(Text(" " * INDENT + more))
        self.quarter = 0

    def code(self, text: str) -> None:
        """Something to type."""
        self.console.print(Text(f"  {text}", style="cyan"))

    def status(self, text: str) -> None:
        """What goes on now; only on a terminal."""
        if self.terminal:
            self.live.update(Text(" " * INDENT + text, style="bright_black"), refresh=True)

    def progress(self, percent: int, text: str) -> None:
        """How far a run is: a bar on a terminal, elsewhere a line for each quarter."""
        if self.terminal:
            self.live.update(bar(percent, text), refresh=True)
        elif percent // QUARTER > self.quarter:
            quarter = percent // QUARTER
            self.line("", f"{percent} %, {text}")
            self.quarter = quarter


def wrapped(text: str) -> list[str]:
    """The text in lines that fit beside the words."""
    return textwrap.wrap(text, WIDTH - INDENT, break_on_hyphens=False) or [""]


def bar(percent: int, text: str) -> Text:
    """A bar and what it means."""
    full = round(BAR * percent / 100)
    line = Text(" " * INDENT)
    line.append("━" * full, style="blue")
    line.append("─" * (BAR - full), style="bright_black")
    return line.append(f" {percent:3} %  {text}")
