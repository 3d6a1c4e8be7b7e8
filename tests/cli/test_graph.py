"""``koken graph``."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.cli.conftest import Koken
from tests.support.house import open_house
from tests.support.nights import failed


async def make(url: str) -> int:
    async with open_house(url) as house:
        return await failed(house)


def test_a_run_and_its_job(koken: Koken, database_url: str) -> None:
    asyncio.run(make(database_url))
    assert koken("graph", "1").lines == [
        "nightly 1  3 ✓  3 ·  1 ✗  1 –",
        "✓      files      succeeded",
        "✓      table      succeeded  209/214",
        "├─┬─╮",
        "✓ │ │  size       succeeded",
        "╰─┼─┤",
        "  ✗ │  crunch     failed     2/2      OSError: [Errno 28] No space left on devi…",
        '  │ –  add_up     skipped             size is not "small"',
        "  ├─╯",
        "  ·    publish    not begun           gate 30 4 * * *",
        "  ·    site       not begun           starts publish_site",
        "  ·    apologise  not begun           join any_failed",
    ]
    assert koken("graph", "nightly").lines == [
        "nightly, version 1",
        "○      files",
        "○      table      each of files",
        "├─┬─╮",
        "○ │ │  size",
        "╰─┼─┤",
        '  ○ │  crunch     when size is "big"',
        '  │ ○  add_up     when size is "small"',
        "  ├─╯",
        "  ○    publish    gate 30 4 * * *",
        "  ○    site       starts publish_site",
        "  ○    apologise  join any_failed",
    ]
    plain = koken("graph", "1", "--json").json
    assert plain["title"] == "nightly 1"
    assert [node["glyph"] for node in plain["nodes"]] == ["✓", "✓", "✓", "✗", "–", "·", "·", "·"]
    assert plain["edges"][3] == {
        "from": "size", "to": "crunch", "label": 'size is "big"', "hard": False,
    }  # fmt: skip


def test_into_a_file(koken: Koken, database_url: str, folder: Path) -> None:
    asyncio.run(make(database_url))
    said = koken("graph", "nightly", "--svg", "night.svg")
    assert said.lines == ["nightly, version 1: 8 steps drawn into night.svg"]
    text = (folder / "night.svg").read_text(encoding="utf-8")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert koken("graph", "nightly", "--svg", "-").out == text
    said = koken("graph", "1", "--svg", "no/such/folder.svg")
    assert (said.code, said.err) == (
        2, "koken: no/such/folder.svg cannot be written: No such file or directory\n"
    )  # fmt: skip


def test_unknown(koken: Koken) -> None:
    for what, message in (
        ("5", "there is no run 5 in workspace 'default'"),
        ("9" * 30, f"there is no run {'9' * 30}"),
        ("nothing", "there is no job 'nothing'; `koken jobs` lists them"),
    ):
        said = koken("graph", what)
        assert (said.code, said.err) == (3, f"koken: {message}\n")
