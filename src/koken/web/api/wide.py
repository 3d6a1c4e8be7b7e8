"""Counts of all workspaces: told to those who may look into every workspace."""

from __future__ import annotations

from koken.model.rights import Right
from koken.web.visit import Visit


def counted_in(visit: Visit, everywhere: bool) -> str | None:
    """The workspace whose runs are counted; None for all of them, where that is asked for."""
    if not everywhere:
        return visit.workspace
    visit.need_everywhere(Right.READ, "such counts")
    return None
