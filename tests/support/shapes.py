"""The shapes of real workflows that stand in ``tests/data/shapes``."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

FOLDER = Path(__file__).parent.parent / "data" / "shapes"
NAMES = sorted(file.name.removesuffix(".json.gz") for file in FOLDER.glob("*.json.gz"))


@dataclass(frozen=True, slots=True)
class Shape:
    """The names of the steps, and for each those that it needs."""

    name: str
    needs: dict[str, list[str]]

    @classmethod
    def load(cls, name: str) -> Self:
        """The shape of that name."""
        found = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
        steps: list[str] = found["steps"]
        needs: dict[str, list[str]] = {step: [] for step in steps}
        for begin, end in found["edges"]:
            needs[steps[end]].append(steps[begin])
        return cls(name, needs)
