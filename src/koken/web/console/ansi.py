"""Lines of a log as pieces with classes: the colours of terminals, and nothing else of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from koken.web.logtext import unsteering

COLOURS = re.compile(r"\x1b\[([0-9;:]*)m")
NAMED = {1: "b", 2: "dim", 3: "i", 4: "u", 7: "inv", 9: "s"}
ENDS = {22: ("b", "dim"), 23: ("i",), 24: ("u",), 27: ("inv",), 29: ("s",)}
CUBE = (0, 95, 135, 175, 215, 255)

Piece = tuple[str, str]
"""Classes and text."""


def pieces(text: str) -> list[Piece]:
    """The parts of a line, each with the classes of its colours."""
    found: list[Piece] = []
    style: dict[str, str] = {}
    for shown, codes in parts(text):
        clean = unsteering(shown)
        if clean:
            found.append((" ".join(style[kind] for kind in sorted(style)), clean))
        if codes is not None:
            change(style, codes)
    return found


def parts(text: str) -> Iterator[tuple[str, Sequence[int] | None]]:
    """Each text with the codes that come after it; None: it is the last one."""
    at = 0
    for match in COLOURS.finditer(text):
        numbers = [int(each[:4] or 0) for each in re.split("[;:]", match[1])]
        yield text[at : match.start()], numbers
        at = match.end()
    yield text[at:], None


def change(style: dict[str, str], codes: Sequence[int]) -> None:
    """Take codes into a style."""
    left = list(codes)
    while left:
        code = left.pop(0)
        if code == 0:
            style.clear()
        elif code in NAMED:
            style[NAMED[code]] = f"a-{NAMED[code]}"
        elif code in ENDS:
            for name in ENDS[code]:
                style.pop(name, None)
        elif code in (38, 48):
            number = chosen(left)
            if number is not None:
                colour(style, code == 48, number)
        elif code in (39, 49):
            style.pop("ground" if code == 49 else "ink", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colour(style, False, code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            colour(style, True, code - 40 if code < 100 else code - 92)


def colour(style: dict[str, str], ground: bool, number: int) -> None:
    """One of the 256 colours, of the letters or of their ground."""
    style["ground" if ground else "ink"] = f"a-{'g' if ground else 'f'}{number}"


def chosen(left: list[int]) -> int | None:
    """The colour that follows: one of 256, or of all the one among those that is nearest."""
    kind = left.pop(0) if left else None
    if kind == 5 and left:
        number = left.pop(0)
        return number if number < 256 else None
    if kind == 2 and len(left) >= 3:
        red, green, blue = (nearest(left.pop(0)) for _ in range(3))
        return 16 + 36 * red + 6 * green + blue
    return None


def nearest(value: int) -> int:
    """The step of the cube that is next to an amount of a colour."""
    return min(range(6), key=lambda step: abs(CUBE[step] - value))


def sheet() -> str:
    """The rules for the colours from 16 on; the first sixteen are those of the theme."""
    rules = []
    for number in range(16, 256):
        if number < 232:
            rest = number - 16
            red, green, blue = CUBE[rest // 36], CUBE[rest // 6 % 6], CUBE[rest % 6]
        else:
            red = green = blue = 8 + 10 * (number - 232)
        told = f"#{red:02x}{green:02x}{blue:02x}"
        rules.append(f".a-f{number}{{color:{told}}}.a-g{number}{{background:{told}}}")
    return "\n".join(rules) + "\n"
