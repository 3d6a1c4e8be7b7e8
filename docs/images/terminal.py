"""A terminal's screen as a picture: coloured text on standard input, an SVG file as the result.

tmux capture-pane -pe -t demo | python docs/images/terminal.py docs/images/demo.svg "make demo"
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 80
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def drawn(screen: str, title: str) -> str:
    """The screen as SVG that loads nothing from elsewhere: a viewer's own monospace font serves."""
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()), soft_wrap=True)
    svg = console.export_svg(title=title, unique_id="screen")
    return FONT_FACE.sub("", svg).replace("Fira Code, monospace", "monospace")


def main() -> None:
    """Draw what comes in."""
    file, title = sys.argv[1:]
    Path(file).write_text(drawn(sys.stdin.read(), title), encoding="utf-8")


if __name__ == "__main__":
    main()
