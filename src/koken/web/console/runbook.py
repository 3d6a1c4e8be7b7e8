"""The description of a job as a runbook: sections by their headings, paragraphs and lists.

Docstrings are plain text, in which ``**bold**`` and what stands between backticks are set as such;
nothing in them is read as HTML.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

HEADINGS = {
    "effect": "Effects",
    "effects": "Effects",
    "impact": "Effects",
    "when it fails": "Effects",
    "workaround": "Workaround",
    "workarounds": "Workaround",
    "recovery": "Recovery",
    "to recover": "Recovery",
    "repair": "Recovery",
    "contact": "Contact",
    "see": "See",
}
"""How a section may begin, and what it is called."""
NAMES = "|".join(sorted(HEADINGS, key=len, reverse=True))
BEGIN = re.compile(rf"(?:^|(?<=[.!?])[ \t]+)(?:#+[ \t]*)?({NAMES})[ \t]*:[ \t]*", re.I | re.M)
TITLE = re.compile(rf"^(?:#+[ \t]*)?({NAMES})[ \t]*\n(?:[-=~^]{{3,}}[ \t]*\n)?", re.I | re.M)
ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
PIECE = re.compile(
    r"(?P<link>https?://[^\s<>\"'`*]*[^\s<>\"'`*.,;:!?)\]])"
    r"|(?P<ticks>``?)(?P<code>[^`]+)(?P=ticks)"
    r"|\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*"
)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or a list of several items."""

    items: tuple[str, ...]
    listed: bool = False
    numbered: bool = False


@dataclass(slots=True)
class Section:
    """A part of a runbook; the first has no title."""

    title: str
    blocks: list[Block] = field(default_factory=list)


def sections(description: str) -> list[Section]:
    """The sections of a description, in their order; none for an empty one."""
    text = inspect.cleandoc(description).replace("\r\n", "\n")
    text = TITLE.sub(lambda title: f"{title[1]}: ", text)
    found, at, title = [], 0, ""
    for begin in BEGIN.finditer(text):
        found.append(Section(title, blocks(text[at : begin.start()])))
        at, title = begin.end(), HEADINGS[begin[1].lower()]
    found.append(Section(title, blocks(text[at:])))
    return [each for each in found if each.blocks]


def blocks(text: str) -> list[Block]:
    """The paragraphs and lists of a text."""
    found = []
    for part in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in part.split("\n") if line.strip()]
        start = next((at for at, line in enumerate(lines) if ITEM.match(line)), len(lines))
        if start:
            found.append(Block((joined(lines[:start]),)))
        if start < len(lines):
            numbered = lines[start].lstrip()[0].isdigit()
            found.append(Block(tuple(items(lines[start:])), listed=True, numbered=numbered))
    return found


def items(lines: Sequence[str]) -> list[str]:
    """The items of a list; lines that begin none go on with the one before."""
    found: list[list[str]] = []
    for line in lines:
        begin = ITEM.match(line)
        if begin:
            found.append([line[begin.end() :]])
        else:
            found[-1].append(line)
    return [joined(each) for each in found]


def joined(lines: Sequence[str]) -> str:
    """Lines as one."""
    return " ".join(line.strip() for line in lines)


def pieces(text: str) -> list[tuple[str, str]]:
    """A text in pieces, each with what it is: ``link``, ``code``, ``strong``, or nothing of that.

    Links are addresses of the web.
    """
    found, at = [], 0
    for piece in PIECE.finditer(text):
        kind = piece.lastgroup or ""
        found += [(text[at : piece.start()], ""), (piece[kind], kind)]
        at = piece.end()
    found.append((text[at:], ""))
    return [(piece, kind) for piece, kind in found if piece]
