"""What a console answers in place of what was asked, as Koken's own errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import httpx

from koken import errors
from koken.errors import (
    Conflict,
    Forbidden,
    InvalidArguments,
    KokenError,
    NotFound,
    NotSignedIn,
    TooMany,
)

CONFLICTS: Mapping[str, type[Conflict]] = {
    each.code: each
    for each in (
        Conflict,
        errors.InProgress,
        errors.KeyConflict,
        errors.Locked,
        errors.OutcomeUnknown,
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


def plain_of(answer: httpx.Response) -> dict[str, Any]:
    """What a console has answered. Raises its refusals, and ``KokenError`` for another's answer."""
    if not answer.is_success:
        raise refusal(answer)
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise stranger(answer)
    return found


def is_problem(answer: httpx.Response) -> bool:
    """Whether a console has refused it: not who stands between, such as a proxy."""
    return str(answer.headers.get("Content-Type", "")).startswith("application/problem+json")


def refusal(answer: httpx.Response) -> KokenError:
    """A problem that a console has answered with, as the error that it stands for."""
    try:
        return error_of(answer.status_code, answer.json())
    except (ValueError, KeyError, TypeError):
        return stranger(answer)


def error_of(status: int, plain: Mapping[str, Any]) -> KokenError:
    """The error that a problem stands for."""
    code, detail = plain["code"], plain["detail"]
    if code in CONFLICTS:
        holder, since = plain.get("held_by"), plain.get("since")
        return CONFLICTS[code](
            detail,
            what=plain.get("what") or "",
            held_by=int(holder["run"]) if holder else None,
            since=datetime.fromisoformat(since) if since else None,
        )
    if code == TooMany.code:
        return TooMany(detail, after=float(plain["after"]))
    if code in OTHERS:
        return OTHERS[code](detail)
    if 400 <= status < 500:
        return InvalidArguments(detail, plain.get("problems"))
    return KokenError(detail)


def stranger(answer: httpx.Response) -> KokenError:
    """The error for an answer that no console gives."""
    return KokenError(
        f"{answer.url.copy_with(query=None)} answered {answer.status_code} "
        f"{answer.reason_phrase}, but not as a Koken console does; is that the address of one?"
    )
