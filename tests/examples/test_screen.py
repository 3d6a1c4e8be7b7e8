"""The demo's screen, on a terminal and elsewhere."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from examples.flights.screen import LOOKS, WIDTH, Screen

LONG = "run 2: EOFError: Compressed file ended before the end-of-stream marker was reached"


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


def screen(output: io.StringIO, *, terminal: bool) -> Screen:
    """A screen that writes there."""
    return Screen(
        Console(file=output, force_terminal=terminal, width=WIDTH, highlight=False, no_color=True)
    )


def test_plain_text_has_words_and_no_glyphs(output: io.StringIO) -> None:
    plain = screen(output, terminal=False)
    with plain.on():
        for word in LOOKS:
            plain.line(word, LONG, at=datetime(2026, 11, 30, 12, tzinfo=UTC))
        plain.status("nobody sees this")
    said = output.getvalue()
    assert all(word in said for word in LOOKS)
    assert not any(look.glyph in said for look in LOOKS.values() if look.glyph not in "–!")
    assert max(len(line) for line in said.splitlines()) <= WIDTH
    assert "nobody" not in said
    assert "\x1b" not in said


def test_terminal_has_words_and_glyphs(output: io.StringIO) -> None:
    rich = screen(output, terminal=True)
    with rich.on():
        rich.line("succeeded", "run 1")
        rich.status("the next tick is due in 3 s")
        rich.progress(50, "half of it")
    said = output.getvalue()
    assert "✓ succeeded" in said
    assert "the next tick is due in 3 s" in said
    assert "━━━━━━━━━━━━────────────  50 %  half of it" in said
    assert said.count("\x1b[?25l") == said.count("\x1b[?25h") == 1  # the cursor is back


def test_progress_without_a_terminal_comes_by_quarters(output: io.StringIO) -> None:
    plain = screen(output, terminal=False)
    for percent in (10, 24, 26, 40, 51, 60, 80, 90):
        plain.progress(percent, "rows")
    plain.line("succeeded", "run 1")
    plain.progress(30, "rows of the next")
    assert output.getvalue().split() == [
        *("26", "%,", "rows"),
        *("51", "%,", "rows"),
        *("80", "%,", "rows"),
        *("succeeded", "run", "1"),
        *("30", "%,", "rows", "of", "the", "next"),
    ]
