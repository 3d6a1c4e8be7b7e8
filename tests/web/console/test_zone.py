from __future__ import annotations

import httpx

from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.shop import make


async def test_a_zone_is_chosen_without_a_script(house: House, http: httpx.AsyncClient) -> None:
    run = await house.client.start(make().registry.get("greet"))
    at = f"/runs/{run.id}?tab=values"
    first = (await http.get(at)).text
    assert f'<a id="zone" href="/zone?back=%2Fruns%2F{run.id}%3Ftab%3Dvalues"' in first
    assert f"{run.created_at:%Y-%m-%d %H:%M:%S} UTC" in first
    form = Page((await http.get("/zone", params={"back": at})).text)
    assert form.sentence == "Times are told in UTC."
    assert form.forms["/zone"].values == {"back": at}
    got = await http.get("/zone", params={"to": "Asia/Tokyo", "back": at})
    assert (got.status_code, got.headers["location"]) == (303, at)
    assert "httponly" not in got.headers["set-cookie"].lower()
    then = (await http.get(at)).text
    assert (" JST" in then, ">Asia/Tokyo</a>" in then) == (True, True)
    odd = await http.get("/zone", params={"to": "Moon/Crater", "back": at})
    assert odd.status_code == 422
    assert "there is no zone 'Moon/Crater'" in Page(odd.text).text
