"""Lists: pages, cursors, queries."""

from __future__ import annotations

import httpx
import pytest

from koken.errors import InvalidArguments
from koken.web.api import lists
from tests.web.api.yard import problem

RUNS = "/api/v1/runs"


async def test_pages_follow_one_another(http: httpx.AsyncClient) -> None:
    await http.post(f"{RUNS}/bulk", json={"job": "greet", "rows": [{}] * 5})
    await http.post(RUNS, json={"job": "broken"})
    seen, cursor = [], None
    for _ in range(3):
        asked = {"q": "job:greet state:ready", "limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(RUNS, params=asked)).json()
        seen.append([each["id"] for each in page["items"]])
        cursor = page["next"]
    assert (seen, cursor) == ([["5", "4"], ["3", "2"], ["1"]], None)
    below = (await http.get(RUNS, params={"before": "3"})).json()
    assert [each["id"] for each in below["items"]] == ["2", "1"]


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"q": "stat:failed"}, "stat"),
        ({"limit": "0"}, "limit"),
        ({"limit": "9" * 40}, "limit"),
        ({"before": "x"}, "before"),
        ({"cursor": "Zm9v"}, "cursor"),
        ({"cursor": "é\x00"}, "cursor"),
    ],
)
async def test_what_cannot_be_asked_for(
    http: httpx.AsyncClient, asked: dict[str, str], place: str
) -> None:
    got = await http.get(RUNS, params=asked)
    assert (problem(got), list(got.json()["problems"])) == ((422, "invalid_arguments"), [place])


def test_a_cursor_is_of_one_list_and_changed_by_nobody() -> None:
    cursor = lists.written("runs default", ["a", 7])
    assert lists.read("runs default", cursor) == ["a", 7]
    assert lists.read("runs default", None) is None
    for of, other in (
        ("runs acme", cursor),
        ("runs default", cursor[:-1]),
        ("runs default", cursor + "A"),
        ("runs default", f"{cursor}="),
        ("runs default", "A" + cursor[1:] if cursor[0] != "A" else "B" + cursor[1:]),
        ("runs default", ""),
    ):
        with pytest.raises(InvalidArguments, match="is no cursor of this list"):
            lists.read(of, other)
