"""Runs on their way out of the doors: as plain values, with secrets masked and their address."""

from __future__ import annotations

from typing import Any

from koken.model.run import Run
from koken.web.masking import masked
from koken.web.visit import Visit


def run_json(visit: Visit, run: Run[Any]) -> dict[str, Any]:
    """A run as ``--json`` prints it, with its address in the console.

    Without ``url`` in the settings the address begins at the root of this server.
    """
    plain = run.to_json()
    mask = visit.house.web.mask
    plain["args"] = masked(plain["args"], mask)
    plain["result"] = masked(plain["result"], mask)
    plain["url"] = f"{visit.house.web.url}/runs/{run.id}"
    return plain
