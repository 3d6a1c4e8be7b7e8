"""Texts as people are shown them: plain, brief, counted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from koken.views.catalog import ScheduleRow

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0)) if code != ord("\t")}


def arguments(args: Mapping[str, Any]) -> str:
    """``day=2026-11-30 size=3``."""
    return " ".join(f"{name}={brief(value)}" for name, value in args.items())


def brief(value: Any) -> str:
    """A plain value in a line: texts as they are, the rest as JSON."""
    return plain(value) if isinstance(value, str) else dump(value)


def dump(value: Any) -> str:
    """A plain value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def plain(text: str) -> str:
    """One line without what would steer a terminal."""
    return ESCAPES.sub("", text).replace("\n", " ⏎ ").translate(CONTROLS)


def expression(row: ScheduleRow) -> str:
    """When a schedule fires, as it is written, with the zone where it matters."""
    matters = row.words.endswith(row.timezone) and row.timezone not in row.expression
    return f"{row.expression}, {row.timezone}" if matters else row.expression


def counted(number: int, thing: str, things: str = "") -> str:
    """``1 run``, ``1,204 runs``; above 1,000 of what is counted that far, see ``capped``."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def rate(starts: float | None) -> str:
    """Starts a second as they are written: ``10/s``, ``30/m``, ``12/h``; empty for any number."""
    if starts is None:
        return ""
    for unit, length in (("s", 1), ("m", 60)):
        if starts * length >= 1:
            return f"{starts * length:g}/{unit}"
    return f"{starts * 3600:g}/h"


def capped(number: int) -> str:
    """A number that was counted up to 1,000."""
    return "1,000+" if number > 1000 else f"{number:,}"


def address(url: str) -> str:
    """Where a database is, without the password: ``db.example:5432/app``."""
    parts = urlsplit(url)
    at = parts.netloc.rpartition("@")[2] or "localhost"
    return f"{at}{parts.path}"


def size(number: float) -> str:
    """Bytes as people read them: ``412 MiB``."""
    for unit in ("B", "KiB", "MiB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
