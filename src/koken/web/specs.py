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


NAMED = ("properties", "$defs")
"""What has schemas by the names of fields or types, which may be any words."""


def form_shown(form: Any, parts: Sequence[str], *, veiled: bool = False) -> Any:
    """A JSON Schema without the values of fields that are secret.

    ``veiled``: it is about such a field.
    """
    if isinstance(form, list):
        return [form_shown(each, parts, veiled=veiled) for each in form]
    if not isinstance(form, Mapping):
        return form
    names = tuple(spelled(part) for part in parts)
    shown: dict[str, Any] = {}
    for key, item in form.items():
        if key in VALUES:
            shown[key] = covered(item) if veiled else masked(item, parts)
        elif key in NAMED and isinstance(item, Mapping):
            shown[key] = {
                name: form_shown(field, parts, veiled=veiled or secret(name, names))
                for name, field in item.items()
            }
        else:
            shown[key] = form_shown(item, parts, veiled=veiled)
    return shown


def covered(value: Any) -> Any:
    """A value of a secret field, or several, as it is shown."""
    if isinstance(value, list):
        return [covered(each) for each in value]
    return MASK if given(value) else value
