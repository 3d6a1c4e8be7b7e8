"""What a step of a workflow is given when it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from koken.model.steps import StepSpec


@dataclass(frozen=True, slots=True)
class Inputs:
    """Arguments of its workflow, and what other steps have returned; plain JSON values."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    """By step; one that did not succeed is left out."""

    def of(self, step: StepSpec) -> dict[str, Any]:
        """The arguments of a step's body, one item's apart."""
        found = {name: self.arguments[name] for name in step.arguments if name in self.arguments}
        for parameter, name in step.inputs.items():
            if name in self.results:
                found[parameter] = self.results[name]
        return found

    def asked_by(self, step: StepSpec) -> dict[str, Any]:
        """What a step's condition looks at."""
        values = {**self.arguments, **self.results}
        return {name: values[name] for name in step.asks if name in values}


NOTHING = Inputs()
