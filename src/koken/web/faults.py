"""What a request can be refused for: by its code, which stays the same for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PLACE = "/errors"
"""Where the console explains each; the ``type`` of a problem leads there."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of problem, and how it is explained."""

    status: int
    title: str
    meaning: str
    remedy: str


FAULTS: Mapping[str, Fault] = {
    "malformed": Fault(
        400,
        "The request cannot be read",
        "Its body is no JSON in UTF-8, or did not come to its end.",
        "Send the body as JSON in UTF-8, with Content-Type: application/json.",
    ),
    "not_signed_in": Fault(
        401,
        "Nobody knows who asks",
        "There is no token or session with the request, or it is not good any more.",
        "Send Authorization: Bearer with a token; `koken token add` makes one.",
    ),
    "forbidden": Fault(
        403,
        "That is not allowed",
        "Who asks is known, and may not do that there.",
        "Ask somebody who administers the workspace for a role, or a token with that right.",
    ),
    "not_found": Fault(
        404,
        "There is no such thing",
        "There is nothing of that name or number, or it is not for who asks.",
        "Look at the name, and at the workspace: what lies in another one does not exist here.",
    ),
    "method_not_allowed": Fault(
        405,
        "That cannot be done here",
        "The path exists, and takes other methods.",
        "The header Allow names those that it takes; openapi.json lists all routes.",
    ),
    "conflict": Fault(
        409,
        "Something stands in the way",
        "What was asked for does not go together with what there is.",
        "The members what, held_by and since tell what it is. Look at it, then ask again.",
    ),
    "key_conflict": Fault(
        409,
        "The idempotency key belongs to another request",
        "A key names one request; this one differs from the first that came with it.",
        "Send the same request again, or another key.",
    ),
    "in_progress": Fault(
        409,
        "The same request is still being carried out",
        "It came under this idempotency key a moment ago, and has no answer yet.",
        "Send it again after as many seconds as the header Retry-After says.",
    ),
    "outcome_unknown": Fault(
        409,
        "What became of the same request is not known",
        "It came under this idempotency key and has changed something; its answer is lost with "
        "the process that carried it out. It is not carried out again.",
        "Look what has become of it; ask for what is still to be done under a new key.",
    ),
    "locked": Fault(
        409,
        "A lock is held",
        "A run holds the lock, and goes.",
        "Wait for its end, or cancel it: the lock comes free with it.",
    ),
    "overlapping": Fault(
        409,
        "Another run still goes",
        "The overlap rule of the job does not let a second run go beside it.",
        "Wait for the end of the run in held_by, or start with another overlap rule.",
    ),
    "refused": Fault(
        409,
        "That is not legal as things stand",
        "The state of what it is about does not allow it; nothing was done.",
        "The detail says what is possible in its place. Where it wants force, say why.",
    ),
    "workflow_changed": Fault(
        409,
        "The steps have changed under the run",
        "The program that carries on the run declares other steps than it began with.",
        "Start a new run, or have the former program carry this one to its end.",
    ),
    "too_large": Fault(
        413,
        "The request is too large",
        "Its body is longer than is read here.",
        "Send less at once; hand large data over by its address.",
    ),
    "wrong_media_type": Fault(
        415,
        "The body is of a kind that is not read here",
        "Its Content-Type is another one than the route takes.",
        "Send JSON, with Content-Type: application/json.",
    ),
    "misdirected": Fault(
        421,
        "Not under this name",
        "The Host header names an address that Koken does not answer under.",
        "Use the address of the settings, or add the name to [web] hosts.",
    ),
    "invalid_arguments": Fault(
        422,
        "Something given does not fit",
        "A value is missing, of another form, or unknown; nothing was done.",
        "The member problems tells what, by its place.",
    ),
    "too_many": Fault(
        429,
        "Asked too often",
        "There is a limit to how often that may be asked.",
        "Wait as many seconds as after and the header Retry-After say.",
    ),
    "internal": Fault(
        500,
        "Koken failed",
        "Something happened that nobody foresaw. It may have been carried out, or not.",
        "Look in the log of the console for the number in id.",
    ),
    "database_unreachable": Fault(
        503,
        "PostgreSQL does not answer",
        "The console goes, and its database cannot be reached.",
        "Try again; `koken doctor` says what it sees.",
    ),
}


def problem_of(
    code: str, detail: str, *, base: str, path: str, status: int | None = None, **members: Any
) -> dict[str, Any]:
    """A problem (RFC 9457) as plain values.

    ``base`` is ``url`` of the settings; empty: ``type`` is a path, whatever name was asked for.
    """
    fault = FAULTS.get(code)
    return {
        "type": f"{base}{PLACE}/{code}",
        "title": fault.title if fault else code.replace("_", " ").capitalize(),
        "status": status or (fault.status if fault else 500),
        "code": code,
        "detail": detail,
        "instance": path,
        **members,
    }
