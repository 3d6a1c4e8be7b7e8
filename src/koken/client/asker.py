"""Asks a console over HTTP, and gives its refusals back as Koken's own errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx

from koken import errors
from koken.errors import (
    Conflict,
    ConsoleUnreachable,
    DeclarationError,
    Forbidden,
    InvalidArguments,
    KokenError,
    NotFound,
    NotSignedIn,
    TooMany,
)

TRIES = 3
"""How often a request is sent that may be sent twice."""
TIMEOUT = 30.0
"""Seconds that a console has to answer."""
CONFLICTS: Mapping[str, type[Conflict]] = {
    each.code: each
    for each in (
        errors.InProgress,
        errors.KeyConflict,
        errors.Locked,
        errors.Overlapping,
        errors.Refused,
    )
}
OTHERS: Mapping[str, type[KokenError]] = {
    each.code: each
    for each in (
        errors.DatabaseUnreachable,
        errors.LeaseLost,
        errors.WorkflowChanged,
        Forbidden,
        NotFound,
        NotSignedIn,
    )
}


class Asker:
    """One console; opens connections on first use."""

    def __init__(self, address: str, *, token: str) -> None:
        self.address = address.rstrip("/")
        if not httpx.URL(self.address).host:
            raise DeclarationError(f"{address!r} is no address of a console")
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

    async def write(
        self, path: str, workspace: str, plain: Mapping[str, Any], *, once: bool = True
    ) -> Any:
        """The answer to a change. Raises Koken's errors.

        With ``once`` the request has a key of its own, so that it may be sent again when its
        answer is lost, and is carried out once.
        """
        headers = {"Idempotency-Key": str(uuid4())} if once else {}
        tries = TRIES if once else 1
        given = dict(plain)
        return await self.ask("POST", path, workspace, tries=tries, json=given, headers=headers)

    async def ask(
        self, method: str, path: str, workspace: str, *, tries: int = TRIES, **given: Any
    ) -> Any:
        """The answer to a request, sent again when the connection is lost."""
        headers = {"Koken-Workspace": workspace} if workspace else {}
        given["headers"] = headers | given.get("headers", {})
        for left in reversed(range(tries)):
            try:
                answer = await self.open().request(method, f"/api/v1/{path}", **given)
                break
            except httpx.TransportError as error:
                if left:
                    continue
                done = "" if method == "GET" or tries > 1 else "; it may have been carried out"
                why = str(error) or type(error).__name__
                raise ConsoleUnreachable(
                    f"the console at {self.address} does not answer{done}: {why}"
                ) from error
        if answer.is_success:
            return answer.json() if answer.content else None
        raise self.refusal(answer)

    def open(self) -> httpx.AsyncClient:
        """The connections."""
        if self.http is None:
            bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            self.http = httpx.AsyncClient(
                base_url=self.address, headers=bearer, timeout=TIMEOUT, follow_redirects=False
            )
        return self.http

    def refusal(self, answer: httpx.Response) -> KokenError:
        """A problem that a console has answered with, as the error that it stands for."""
        try:
            plain = answer.json()
            code, detail = plain["code"], plain["detail"]
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
            return KokenError(
                f"{self.address} answered {answer.status_code} {answer.reason_phrase}; "
                "is that the address of a Koken console?"
            )
        if code in CONFLICTS or code == Conflict.code:
            holder, since = plain.get("held_by"), plain.get("since")
            return CONFLICTS.get(code, Conflict)(
                detail,
                what=plain.get("what") or "",
                held_by=int(holder["run"]) if holder else None,
                since=datetime.fromisoformat(since) if since else None,
            )
        if code == TooMany.code:
            return TooMany(detail, after=float(plain["after"]))
        if code in OTHERS:
            return OTHERS[code](detail)
        if 400 <= answer.status_code < 500:
            return InvalidArguments(detail, plain.get("problems"))
        return KokenError(detail)
