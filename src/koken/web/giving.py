"""What the doors have in common where somebody is let in: who is told of whom, and for how long."""

from __future__ import annotations

from koken.errors import InvalidArguments
from koken.model.duration import seconds
from koken.model.rights import Right
from koken.web.visit import Visit


def places(visit: Visit) -> list[str] | None:
    """The workspaces of whose users and tokens who asks is told; None: all."""
    return None if visit.principal.everywhere(Right.ADMINISTER) else [visit.workspace]


def lifetime(value: str | float | None) -> float | None:
    """For how many seconds a token is good; None: for ever. Raises ``InvalidArguments``."""
    if value is None:
        return None
    try:
        return seconds(value, name="expires")
    except (ValueError, OverflowError) as error:
        raise InvalidArguments(str(error), {"expires": str(error)}) from None
