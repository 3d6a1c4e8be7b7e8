"""What is declared of a job on its way out of the doors: values that are secret are masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from koken.web.masking import MASK, given, masked, secret, spelled


def spec_shown(spec: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Any]:
    """A job's spec without the secrets among its defaults and the arguments of its schedules."""
    return {
        **spec,
        "defaults": masked(spec["defaults"], parts),
        "parameters": form_shown(spec["parameters"], parts),
        "schedules": [
            {**each, "args": masked(each.get("args", {}), parts)} for each in spec["schedules"]
        ],
    }


VALUES = ("default", "examples", "const", "enum")
"""What in a JSON Schema is a value, or several, of the field that it is about."""


def form_shown(form: Any, parts: Sequence[str]) -> Any:
    """A JSON Schema without the defaults of fields that are secret."""
    if isinstance(form, list):
        return [form_shown(each, parts) for each in form]
    if not isinstance(form, Mapping):
        return form
    shown = {
        key: masked(item, parts) if key in VALUES else form_shown(item, parts)
        for key, item in form.items()
    }
    fields = shown.get("properties")
    if isinstance(fields, dict):
        names = tuple(spelled(part) for part in parts)
        for name, field in fields.items():
            if secret(name, names) and isinstance(field, dict) and given(field.get("default")):
                fields[name] = {**field, "default": MASK}
    return shown
