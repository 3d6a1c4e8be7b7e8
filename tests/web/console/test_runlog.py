from __future__ import annotations

import re
from typing import Any

import httpx
import psycopg

from koken.web.console import ansi
from koken.web.console.application import STATIC
from koken.web.house import House
from tests.support.moments import until
from tests.web.console.mill import HOSTILE
from tests.web.console.test_run_page import begin, ended, page

Mill = tuple[House, httpx.AsyncClient]


def texts(source: str) -> list[str]:
    """The lines of a log, without their times."""
    found = re.findall(r'class="text">(.*?)</span></div>', source)
    return [re.sub(r"<[^>]*>", "", each).removeprefix("warning ") for each in found]


def numbers(source: str) -> list[int]:
    return [int(each) for each in re.findall(r'id="L(\d+)"', source)]


def write(url: str, run: int, count: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "insert into koken.log_line (run_id, lease, at, level, stream, text)"
            " select %s, 1, now(), case when n %% 1000 = 0 then 'warning' else 'info' end,"
            " 'stdout', 'row ' || n from generate_series(1, %s) n",
            (run, count),
        )


def test_colours_become_classes_and_nothing_else_of_a_terminal_is_left() -> None:
    assert ansi.pieces("plain") == [("", "plain")]
    assert ansi.pieces("\x1b[1;31mhot\x1b[22mwarm\x1b[0mcold") == [
        ("a-b a-f1", "hot"),
        ("a-f1", "warm"),
        ("", "cold"),
    ]
    assert ansi.pieces("\x1b[38;5;208mx\x1b[48;2;0;0;255my\x1b[38;5;999mz\x1b[39;49m!") == [
        ("a-f208", "x"),
        ("a-g21 a-f208", "y"),
        ("a-g21 a-f208", "z"),
        ("", "!"),
    ]
    assert ansi.pieces("a\x1b]8;;http://evil.example\x07b\x1b[2Kc\x1b[?25l\x07d\x1b") == [
        ("", "abcd")
    ]
    assert (STATIC / "ansi.css").read_text() == ansi.sheet()


async def test_a_line_is_escaped_and_coloured(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")

    async def printed() -> bool:
        return "hot" in (await page(http, f"/runs/{run.id}")).text

    await until(printed)
    found = await page(http, f"/runs/{run.id}")
    assert '<span class="a-b a-f1">hot</span> &lt;script&gt;alert(1)&lt;/script&gt; link' in (
        found.source
    )
    assert "evil.example" not in found.source
    assert "attempt 3" in found.text
    whole = await page(http, f"/runs/{run.id}?of=all")
    assert "Log of the run and all below it" in whole.text
    assert '<span class="from">load</span>' in whole.source


async def test_what_is_downloaded_is_what_the_page_shows(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "pictures")

    async def download(at: str, words: str) -> str:
        found = await page(http, f"/runs/{run.id}{at}")
        got = await http.get(found.links[words])
        assert got.status_code == 200
        return got.text

    async def printed() -> bool:
        told = await download("", "log as a file")
        return all(text in told for text in ("picture 1", "picture 3", "ValueError: no picture"))

    await until(printed)
    whole = await download("?of=all", "Download")
    assert ("picture 1" in whole, "ValueError: no picture" in whole) == (True, True)
    (item,) = [each for each in await house.client.steps(run.id) if each.name == "resize"]
    (second,) = [each for each in await house.client.steps(item.run_id) if each.no == 2]
    one = await download(f"?step={item.name}", "Download")
    assert ("picture 3" in one, await download("", "Download") == one) == (True, True)
    found = await page(http, f"/runs/{second.run_id}")
    told = (await http.get(found.links["Download"])).text
    assert ("picture 2" in told, "picture 1" in told) == (True, False)


async def test_the_log_of_items_begins_at_the_error_of_the_one_that_failed(
    mill_house: Mill,
) -> None:
    house, http = mill_house
    run = await ended(house, "pictures")
    found = await page(http, f"/runs/{run.id}")
    assert "Log of step resize, from its error on" in found.text
    assert '<span class="from">resize[1]</span>' in found.source
    assert "ValueError: no picture" in texts(found.source)


async def test_a_long_log_has_pages(mill_house: Mill, database_url: str) -> None:
    house, http = mill_house
    run = await ended(house, "quiet")
    write(database_url, run.id, 25_000)
    at = f"/runs/{run.id}"
    last = await page(http, at)
    assert texts(last.source) == [f"row {n}" for n in range(24_701, 25_001)]
    assert "Newer lines" not in last.links
    older = await page(http, last.links["Older lines"])
    assert texts(older.source) == [f"row {n}" for n in range(24_401, 24_701)]
    newer = await page(http, older.links["Newer lines"])
    assert texts(newer.source) == texts(last.source)
    first = numbers(last.source)[0] - 24_700
    begin_of = await page(http, f"{at}?after={first - 1}")
    assert texts(begin_of.source)[:2] == ["row 1", "row 2"]
    linked = await page(http, f"{at}?at={first + 11_999}")
    assert texts(linked.source)[100] == "row 12000"
    assert f'marked" id="L{first + 11_999}"' in linked.source


async def test_a_search_looks_through_so_many_lines_and_says_so(
    mill_house: Mill, database_url: str
) -> None:
    house, http = mill_house
    run = await ended(house, "quiet")
    write(database_url, run.id, 25_000)
    at = f"/runs/{run.id}"
    found = await page(http, f"{at}?log_q=ROW 2400")
    assert texts(found.source) == ["row 24000", *(f"row 2400{n}" for n in range(1, 10))]
    assert "10 lines of 20,000 looked through" in found.text
    assert '<span class="hit">row 2400</span>' in found.source
    none = await page(http, f"{at}?log_q=row 4999x")
    assert "No line here is like that. There are older lines" in none.text
    rest = await page(http, none.links["Older lines"])
    assert "0 lines of 5,000 looked through" in rest.text
    warned = await page(http, f"{at}?level=warning")
    assert texts(warned.source) == [f"row {n}000" for n in range(6, 26)]
    assert (await page(http, f"{at}?stream=stderr")).text.count("row ") == 0
    hostile = await page(http, at + "?log_q=" + HOSTILE + "&before=x&after=-1&level=loud")
    assert "script" not in hostile.tags


async def test_lines_come_as_they_are_printed(mill_house: Mill, database_url: str) -> None:
    house, http = mill_house
    run = await begin(house, "approve")

    async def waits() -> bool:
        return (await house.client.get(run.id)).state == "waiting"

    await until(waits)
    write(database_url, run.id, 3)
    found = await page(http, f"/runs/{run.id}")
    follows = re.search(r'role="log".*? data-live="([^"]*)"', found.source)
    assert follows
    assert f"/runs/{run.id}/log/live?tab=log&amp;after={numbers(found.source)[-1]}" == follows[1]
    await house.client.answer(run.id, "", True)
    await house.client.wait(run.id)
    got: Any = await http.get(f"/runs/{run.id}/log/live?after={numbers(found.source)[0]}")
    assert got.headers["content-type"].startswith("text/event-stream")
    assert re.findall(r"^event: (.*)$", got.text, re.MULTILINE) == ["lines", "over"]
    assert texts(got.text) == ["row 2", "row 3"]
    sifted = await http.get(f"/runs/{run.id}/log/live?after=0&log_q=row 1")
    assert texts(sifted.text) == ["row 1"]


async def test_a_command_that_fails_in_silence_has_its_reason_in_the_log(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "command")
    lines = await house.client.logs(run.id)
    assert [line.text for line in lines] == ["CommandFailed: exit status 3"]
    found = await page(http, f"/runs/{run.id}")
    assert "error CommandFailed: exit status 3" in found.text
