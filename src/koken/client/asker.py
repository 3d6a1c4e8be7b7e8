"""Asks a console over HTTP, and asks again where that does no harm."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import uuid4

import httpx

from koken.client.refusals import is_problem, plain_of, refusal
from koken.errors import (
    ConsoleUnreachable,
    DeclarationError,
    InProgress,
    InvalidArguments,
    OutcomeUnknown,
)
from koken.model import codec
from koken.model.web import BODY_LIMIT

TRIES = 3
"""How often a request is sent that may be sent twice."""
TIMEOUT = 30.0
"""Seconds that a console has to answer."""
PATIENCE = 90.0
"""Seconds for which a change is asked after whose answer was lost while it was carried out."""
PAUSE = 2.0
"""The most seconds before it is asked after again: it may end long before it would be given up."""
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""Of what is lost: nothing has reached the console."""
BETWEEN = (502, 503, 504)
"""What a proxy says for a console that does not answer it."""
NOTHING_SENT = "Nothing was sent."
HEADER = re.compile("([!-~]([ -~]*[!-~])?)?")
"""What the value of a header may be."""


class Asker:
    """One console; opens connections on first use."""

    def __init__(self, address: str, *, token: str) -> None:
        self.address = address_of(address)
        if not HEADER.fullmatch(token):
            raise DeclarationError(
                "the token holds a line end or another character that no token has"
            )
        self.token = token
        self.http: httpx.AsyncClient | None = None

    def begin_anew(self) -> None:
        """Forget all connections, in a process that was forked: they are its parent's."""
        self.http = None

    async def close(self) -> None:
        """Let go of the connections; a later use opens new ones."""
        http, self.http = self.http, None
        if http is not None:
            await http.aclose()

    async def read(self, path: str, workspace: str, **parameters: Any) -> Any:
        """What stands at a path. Raises Koken's errors."""
        asked = {name: value for name, value in parameters.items() if value is not None}
        return await self.ask("GET", path, workspace, params=asked)

    async def foresee(self, path: str, workspace: str, plain: Mapping[str, Any]) -> Any:
        """What a change would do, which changes nothing. Raises Koken's errors."""
        return await self.ask("POST", path, workspace, **body_of(plain))

    async def write(self, path: str, workspace: str, plain: Mapping[str, Any]) -> Any:
        """The answer to a change. Raises Koken's errors.

        It has a key of its own: sent again when its answer is lost, it is carried out once.
        """
        body = body_of(plain)
        body["headers"]["Idempotency-Key"] = str(uuid4())
        return await self.ask("POST", path, workspace, changes=True, **body)

    async def start(self, workspace: str, plain: Mapping[str, Any]) -> Any:
        """The answer to the start of a run. Raises Koken's errors.

        The key of a start is the run's own, and whoever has chosen one may send it again
        themselves. A start without one is sent once.
        """
        keyed = plain.get("idempotency_key") is not None
        tries = TRIES if keyed else 1
        body = body_of(plain)
        return await self.ask("POST", "runs", workspace, tries=tries, changes=not keyed, **body)

    async def ask(
        self,
        method: str,
        path: str,
        workspace: str,
        *,
        tries: int = TRIES,
        changes: bool = False,
        **given: Any,
    ) -> Any:
        """The answer to a request, which is sent so often until one arrives.

        ``changes``: where none does, it is told whether something may have been carried out.
        """
        given["headers"] = header_of(workspace) | given.get("headers", {})
        sent = False
        until = time.monotonic() + PATIENCE
        while True:
            lost: Exception | None = None
            try:
                answer = await self.open().request(method, f"/api/v1/{path}", **given)
            except NEVER_SENT as error:
                lost, why = error, told(error)
            except httpx.RequestError as error:
                lost, why, sent = error, told(error), True
            else:
                if await self.goes_on(answer, until):
                    continue
                if answer.status_code not in BETWEEN or is_problem(answer):
                    return plain_of(answer)
                why, sent = f"{answer.status_code} {answer.reason_phrase}", True
            tries -= 1
            if not tries:
                done = "; it may have been carried out" if changes and sent else ""
                raise ConsoleUnreachable(
                    f"the console at {self.address} does not answer{done}: {why}"
                ) from lost

    async def goes_on(self, answer: httpx.Response, until: float) -> bool:
        """Whether a change of ours is still being carried out, whose answer was lost.

        Then it waits before it is asked after again. Raises ``InProgress`` when that takes too
        long, and ``OutcomeUnknown`` when it was carried out and its answer is lost for good.
        """
        error = None if answer.is_success else refusal(answer)
        if isinstance(error, OutcomeUnknown):
            raise OutcomeUnknown(
                f"the console at {self.address} has carried this out, at least in part, and what "
                "it answered is lost; look what has become of it before you ask for it again"
            )
        if not isinstance(error, InProgress):
            return False
        after = answer.headers.get("Retry-After", "")
        pause = min(float(after), PAUSE) if after.isascii() and after.isdigit() else PAUSE
        if time.monotonic() + pause > until:
            raise InProgress(
                f"the console at {self.address} has been carrying this out for more than "
                f"{PATIENCE:g} s; look what has become of it before you ask for it again"
            )
        await asyncio.sleep(pause)
        return True

    def open(self) -> httpx.AsyncClient:
        """The connections."""
        if self.http is None:
            bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            self.http = httpx.AsyncClient(
                base_url=self.address, headers=bearer, timeout=TIMEOUT, follow_redirects=False
            )
        return self.http


def address_of(address: str) -> str:
    """The address of a console. Raises ``DeclarationError`` for what is none."""
    parts = parts_of(address)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise DeclarationError(
            f"{address!r} is no address of a console; it is like https://koken.example"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise DeclarationError(
            "the address of a console ends with its path, and holds no password; "
            "who acts is said by `token`"
        )
    return address.rstrip("/")


def parts_of(address: str) -> SplitResult | None:
    """The parts of an address; None where it cannot be read."""
    try:
        httpx.URL(address)
        found = urlsplit(address)
        return found if found.port != 0 else None
    except (httpx.InvalidURL, TypeError, ValueError):
        return None


def header_of(workspace: str) -> dict[str, str]:
    """The header that says where. Raises ``InvalidArguments`` for what no header can say."""
    if not HEADER.fullmatch(workspace):
        problem = f"{workspace!r} cannot be said over HTTP, where names are of ASCII characters"
        raise InvalidArguments(f"workspace: {problem}. {NOTHING_SENT}", {"workspace": problem})
    return {"Koken-Workspace": workspace} if workspace else {}


def body_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request, and what is said of it. Raises ``InvalidArguments``."""
    try:
        text = codec.encode(dict(plain), name="the request").encode()
    except codec.Unstorable as error:
        raise InvalidArguments(f"{error}. {NOTHING_SENT}") from None
    if len(text) > BODY_LIMIT:
        raise InvalidArguments(
            f"the request has {len(text):,} bytes; over HTTP the limit is {BODY_LIMIT:,}. "
            f"Store what is large elsewhere and keep its address. {NOTHING_SENT}"
        )
    return {"content": text, "headers": {"Content-Type": "application/json"}}


def told(error: Exception) -> str:
    """What has happened to a request."""
    return str(error) or type(error).__name__
