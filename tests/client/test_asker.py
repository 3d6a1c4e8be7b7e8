"""What a client over HTTP does when a console does not answer as it should."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from koken.client import asker as asking
from koken.client.asker import Asker
from koken.errors import (
    ConsoleUnreachable,
    DatabaseUnreachable,
    DeclarationError,
    InProgress,
    InvalidArguments,
    KokenError,
    OutcomeUnknown,
    TooMany,
)

Play = type[httpx.TransportError] | httpx.Response
MAY = "the console at http://x.example does not answer; it may have been carried out: "
NOT = "the console at http://x.example does not answer: "
DONE = httpx.Response(200, json={"id": "7"})


class Console:
    """Plays its answers one after the other, the last one for ever."""

    def __init__(self, *plays: Play) -> None:
        self.plays = list(plays)
        self.asked: list[httpx.Request] = []
        self.asker = Asker("http://x.example", token="koken_t")
        transport = httpx.MockTransport(self.play)
        self.asker.http = httpx.AsyncClient(base_url=self.asker.address, transport=transport)

    def play(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
        if isinstance(play, httpx.Response):
            return httpx.Response(play.status_code, headers=play.headers, content=play.content)
        raise play("", request=request)


def problem(status: int, code: str, **members: Any) -> httpx.Response:
    plain = {"code": code, "detail": "so it is", "after": 3.0, **members}
    headers = {"Content-Type": "application/problem+json"}
    return httpx.Response(status, json=plain, headers=headers)


def busy(after: int) -> httpx.Response:
    found = problem(409, "in_progress", what="k", held_by=None, since=None)
    found.headers["Retry-After"] = str(after)
    return found


def write(asker: Asker) -> Awaitable[Any]:
    return asker.write("runs/7/reruns", "", {"reason": "x"})


def start(asker: Asker) -> Awaitable[Any]:
    return asker.start("", {"job": "x"})


def keyed(asker: Asker) -> Awaitable[Any]:
    return asker.start("", {"job": "x", "idempotency_key": "k"})


def foresee(asker: Asker) -> Awaitable[Any]:
    return asker.foresee("runs/7/reruns?dry_run=1", "", {})


def read(asker: Asker) -> Awaitable[Any]:
    return asker.read("runs/7", "")


Verb = Callable[[Asker], Awaitable[Any]]


@pytest.mark.parametrize("lost", [httpx.ReadTimeout, httpx.ConnectError, httpx.Response(502)])
async def test_a_change_whose_answer_was_lost_is_sent_again_under_its_key(lost: Play) -> None:
    console = Console(lost, lost, DONE)
    assert await write(console.asker) == {"id": "7"}
    keys = {request.headers["Idempotency-Key"] for request in console.asked}
    assert (len(console.asked), len(keys)) == (3, 1)
    await write(console.asker)
    assert console.asked[3].headers["Idempotency-Key"] not in keys


@pytest.mark.parametrize(
    ("verb", "plays", "sent", "told"),
    [
        (write, [httpx.ReadTimeout], 3, f"{MAY}ReadTimeout"),
        (write, [httpx.ReadTimeout, httpx.ConnectError], 3, f"{MAY}ConnectError"),
        (write, [httpx.Response(504)], 3, f"{MAY}504 Gateway Timeout"),
        (write, [httpx.ConnectError], 3, f"{NOT}ConnectError"),
        (write, [httpx.ConnectTimeout], 3, f"{NOT}ConnectTimeout"),
        (start, [httpx.ReadError], 1, f"{MAY}ReadError"),
        (start, [httpx.ConnectError], 1, f"{NOT}ConnectError"),
        (keyed, [httpx.ReadError], 3, f"{NOT}ReadError"),
        (foresee, [httpx.ReadError], 3, f"{NOT}ReadError"),
        (read, [httpx.ReadError], 3, f"{NOT}ReadError"),
    ],
)
async def test_what_is_lost_for_good_says_whether_it_may_have_been_done(
    verb: Verb, plays: list[Play], sent: int, told: str
) -> None:
    console = Console(*plays)
    with pytest.raises(ConsoleUnreachable) as met:
        await verb(console.asker)
    assert (str(met.value), len(console.asked)) == (told, sent)


async def test_a_change_that_is_still_being_carried_out_is_asked_after() -> None:
    console = Console(httpx.ReadTimeout, *[busy(0)] * 5, DONE)
    assert await write(console.asker) == {"id": "7"}
    assert len({request.headers["Idempotency-Key"] for request in console.asked}) == 1


async def test_until_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PATIENCE", 1.0)
    console = Console(httpx.ReadTimeout, busy(57))
    with pytest.raises(InProgress, match=r"http://x.example has been carrying this out for more"):
        await write(console.asker)
    assert len(console.asked) == 2


async def test_or_it_is_known_that_nobody_will_be_told_what_came_of_it() -> None:
    lost = problem(409, "outcome_unknown", what="k", held_by=None, since=None)
    console = Console(httpx.ReadTimeout, busy(0), lost)
    with pytest.raises(OutcomeUnknown, match="has carried this out, at least in part, and what it"):
        await write(console.asker)
    assert len(console.asked) == 3


async def test_or_the_caller_waits_no_longer() -> None:
    console = Console(busy(57))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await write(console.asker)


@pytest.mark.parametrize(
    ("play", "kind", "told"),
    [
        (problem(429, "too_many"), TooMany, "so it is"),
        (problem(503, "database_unreachable"), DatabaseUnreachable, "so it is"),
        (httpx.Response(200, html="<html></html>"), KokenError, "is that the address of one?"),
        (httpx.Response(200, json=[1]), KokenError, "is that the address of one?"),
        (httpx.Response(200), KokenError, "is that the address of one?"),
        (httpx.Response(301), KokenError, "answered 301 Moved Permanently, but not as"),
        (httpx.Response(404, json={"detail": "no"}), KokenError, "/runs/7/reruns answered 404"),
    ],
)
async def test_what_is_answered_is_not_sent_again(
    play: httpx.Response, kind: type[KokenError], told: str
) -> None:
    console = Console(play)
    with pytest.raises(kind, match=told.replace("?", r"\?")) as met:
        await write(console.asker)
    assert (type(met.value), len(console.asked)) == (kind, 1)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "x",
        "ftp://x",
        "http://",
        "http://[bad",
        "http://x:99999",
        "http://x?a=1",
        "http://a:b@x",
    ],
)
def test_what_is_no_address_of_a_console(address: str) -> None:
    with pytest.raises(DeclarationError, match="address of a console"):
        Asker(address, token="")


async def test_what_http_cannot_say_is_not_sent() -> None:
    with pytest.raises(DeclarationError, match="the token holds a line end") as met:
        Asker("http://x.example", token="koken_t\n")
    assert "koken_t" not in str(met.value)
    console = Console(DONE)
    with pytest.raises(InvalidArguments, match="workspace: 'bücher' cannot be said over HTTP"):
        await console.asker.read("runs", "bücher")
    with pytest.raises(InvalidArguments, match="1,048,588 bytes; over HTTP the limit is 1,048,576"):
        await console.asker.write("runs", "", {"value": "x" * 1_048_576})
    with pytest.raises(InvalidArguments, match="rate is nan, which JSON has no form for"):
        await console.asker.write("bulks", "", {"rate": float("nan")})
    assert console.asked == []
