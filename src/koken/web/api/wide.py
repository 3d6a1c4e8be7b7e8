"""What concerns the whole house: allowed to those who may do so in every workspace."""

from __future__ import annotations

from koken.errors import Forbidden
from koken.model.web import EVERYWHERE
from koken.web.access.principal import Right
from koken.web.visit import Visit


def need_everywhere(visit: Visit, right: Right, what: str) -> None:
    """Raise ``Forbidden`` where who asks has the right in some workspaces only."""
    if not visit.principal.may(right, EVERYWHERE):
        raise Forbidden(
            f"{what} belong to all workspaces; {visit.principal.name} may not {right} everywhere"
        )


def counted_in(visit: Visit, everywhere: bool) -> str | None:
    """The workspace whose runs are counted; None for all of them, where that is asked for."""
    if not everywhere:
        return visit.workspace
    need_everywhere(visit, Right.READ, "the counts of the whole house")
    return None
