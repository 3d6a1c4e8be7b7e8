"""Forms that are pressed twice and carried out once: what each page has made them know it by."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse, Response

from koken.engine.answered import Reply
from koken.errors import InProgress
from koken.model.run import FROM_FORM
from koken.web.access import door
from koken.web.console import forms
from koken.web.once import carried, digest

PATIENCE = 15.0
"""Seconds for which a second press waits for the answer of the first."""
PERIOD = 0.1


def fresh() -> str:
    """What one form on one page is told by: it stands in its hidden field ``once``."""
    return secrets.token_urlsafe(12)


def key_of(form: str, said: str) -> str:
    """The key of a form; one that was changed in between has another."""
    return f"{FROM_FORM}{form[:40]}-{said[:16]}"


class Once(APIRoute):
    """A route whose forms are carried out once; a second press leads where the first one does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with the hidden field looked at before."""
        carry = super().get_route_handler()

        async def once(request: Request) -> Response:
            if request.method != "POST":
                return await carry(request)
            visit = await door.visit(request)
            wanted = await digest(request)
            form = forms.text(await request.form(), "once")
            if not form:
                return await carry(request)
            clock = asyncio.get_running_loop().time
            until = clock() + PATIENCE
            while True:
                try:
                    found = await carried(
                        visit, key_of(form, wanted.hex()), wanted, lambda: carry(request), leads_on
                    )
                except InProgress:
                    if clock() > until:
                        raise
                    await asyncio.sleep(PERIOD)
                    continue
                if isinstance(found, Reply):
                    return RedirectResponse(found.location or "/", found.status)
                return found

        return once


def leads_on(answer: Response) -> bool:
    """Whether a form was carried out: what is wrong with one is told on a page."""
    return answer.status_code == 303
