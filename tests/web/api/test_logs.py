"""Logs over HTTP: pages, the end, what is sought, the whole as a file."""

from __future__ import annotations

import httpx
import pytest

from koken.views import logpages
from koken.web.console.ansi import pieces
from koken.web.house import House
from koken.web.logtext import unsteering
from tests.web.api.yard import problem, start

RUNS = "/api/v1/runs"
LINES = """
insert into koken.log_line (run_id, lease, at, level, stream, text)
select 1, 1, '2026-11-30T18:00:00Z'::timestamptz + n * interval '1 second',
       case when n % 3 = 0 then 'error' else 'info' end, 'stdout', 'line ' || n
  from generate_series(1, 9) n
"""


@pytest.fixture
async def run(house: House) -> str:
    """A run with nine lines, every third of which is an error."""
    run = await start(house.http, "greet")
    async with house.db.transaction() as tx:
        await tx.execute(LINES)
        await tx.execute(
            "insert into koken.log_line (run_id, lease, at, level, stream, text) values"
            " (1, 1, '2026-11-30T18:00:10Z', 'info', 'stdout', e'\\x1b[31mred\\x1b[0m <b>')"
        )
    return run


async def test_pages_in_both_directions(
    http: httpx.AsyncClient, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked(**query: str | int) -> tuple[list[str], str | None]:
        page = (await http.get(f"{RUNS}/{run}/logs", params=query)).json()
        return [each["text"].removeprefix("line ") for each in page["items"]], page["next"]

    first = (await http.get(f"{RUNS}/{run}/logs?limit=1")).json()
    assert first == {
        "items": [
            {
                "id": "1",
                "at": "2026-11-30T18:00:01+00:00",
                "level": "info",
                "stream": "stdout",
                "lease": 1,
                "text": "line 1",
            }
        ],
        "next": "1",
    }
    assert await asked(after=1, limit=4) == (["2", "3", "4", "5"], "5")
    assert await asked(after=8, limit=4) == (["9", "\x1b[31mred\x1b[0m <b>"], None)
    assert await asked(before=4, limit=2) == (["2", "3"], "2")
    assert await asked(tail=2) == (["9", "\x1b[31mred\x1b[0m <b>"], "9")
    assert await asked(level="warning") == (["3", "6", "9"], None)
    assert await asked(level="error", tail=1) == (["9"], "9")
    assert await asked(q="LINE 7") == (["7"], None)
    assert await asked(q="line 9", limit=1) == (["9"], None)
    assert await asked(level="error", tail=3) == (["3", "6", "9"], None)
    assert await asked(level="error", after=3, limit=1) == (["6"], "6")
    assert await asked(after=9, limit=1) == (["\x1b[31mred\x1b[0m <b>"], None)
    assert await asked(before=3, limit=2) == (["1", "2"], None)
    assert await asked(stream="stderr") == ([], None)
    assert len((await asked(stream="stdout"))[0]) == 10
    monkeypatch.setattr(logpages, "SCANNED", 5)
    assert await asked(q="line", limit=9) == (["1", "2", "3", "4", "5"], "5")
    assert await asked(q="line", limit=9, after=5) == (["6", "7", "8", "9"], None)
    assert await asked(q="line", before=7) == (["2", "3", "4", "5", "6"], "2")
    assert await asked(q="line", before=6) == (["1", "2", "3", "4", "5"], None)


async def test_the_whole_as_a_file(http: httpx.AsyncClient, run: str) -> None:
    got = await http.get(f"{RUNS}/{run}/logs/download")
    assert got.headers["content-type"] == "text/plain; charset=utf-8"
    assert got.headers["content-disposition"] == 'attachment; filename="greet-1.log"'
    assert got.headers["x-content-type-options"] == "nosniff"
    lines = got.text.splitlines()
    assert (len(lines), lines[2]) == (10, "2026-11-30T18:00:03.000+00:00 ERROR line 3")
    assert lines[9] == "2026-11-30T18:00:10.000+00:00 INFO \x1b[31mred\x1b[0m <b>"
    plain = (await http.get(f"{RUNS}/{run}/logs/download?ansi=0")).text.splitlines()
    assert plain[9] == "2026-11-30T18:00:10.000+00:00 INFO red <b>"
    sought = await http.get(f"{RUNS}/{run}/logs/download?level=error&q=6&stream=stdout")
    assert sought.text == "2026-11-30T18:00:06.000+00:00 ERROR line 6\n"
    assert (await http.get(f"{RUNS}/{run}/logs/download?stream=log")).text == ""


async def test_the_lines_of_a_step_and_of_the_whole_tree(house: House) -> None:
    http: httpx.AsyncClient = house.http
    run = await start(http, "nightly")
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.log_line (run_id, lease, at, level, stream, text) values"
            f" ({run}, 1, koken.now(), 'info', 'log', 'whole')"
        )
    tree = (await http.get(f"{RUNS}/{run}/logs?tree=1&tail=5")).json()["items"]
    assert [each["text"] for each in tree] == ["whole"]
    assert problem(await http.get(f"{RUNS}/{run}/logs?step=lod"))[0] == 404
    odd = ("after=1&before=3", "after=x", "level=loud", "stream=out", "tail=0", "limit=99999999")
    for bad in odd:
        got = await http.get(f"{RUNS}/{run}/logs?{bad}")
        assert problem(got) == (422, "invalid_arguments"), bad


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1bcb\x1b#8c\b\x9b2Jd\te", "abcd\te"),
        ("\x1b]0;title\x07a\x9dtitle\x9cb\x1bP1;2|17/ab\x1b\\c", "abc"),
    ],
)
def test_nothing_that_steers_a_terminal_is_left(text: str, plain: str) -> None:
    assert unsteering(text) == plain
    assert "".join(piece for _, piece in pieces(text)) == plain
