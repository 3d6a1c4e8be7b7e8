"""What is declared of a job on its way out of the doors: values that are secret are masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from koken.model.fields import BY_NAME, VALUES, Schema
from koken.model.hiding import MASK, calls_secret, given, has_text, masked, opened, secret
from koken.views.versions import Difference, compared


def spec_shown(spec: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """A job's spec without the secrets among its defaults and the arguments of its schedules."""
    form = spec["parameters"]
    return {
        **spec,
        "defaults": masked(spec["defaults"], words, form),
        "parameters": form_shown(form, words),
        "schedules": [
            {**each, "args": masked(each.get("args", {}), words, form)}
            for each in spec["schedules"]
        ],
    }


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], words: Sequence[str]
) -> list[Difference]:
    """What differs between two specs; of secrets that they differ."""
    told = {
        each.path: each for each in compared(spec_shown(before, words), spec_shown(after, words))
    }
    return [told.get(each.path, veiled(each)) for each in compared(before, after)]


def veiled(each: Difference) -> Difference:
    """A difference without its values."""
    return replace(
        each,
        before=None if each.change == "added" else MASK,
        after=None if each.change == "removed" else MASK,
    )


def form_shown(form: Any, words: Sequence[str]) -> Any:
    """A JSON Schema without the values of what is secret."""
    return Veiler(words, form if isinstance(form, Mapping) else {}).of(form)


class Veiler:
    """Goes through one JSON Schema."""

    def __init__(self, words: Sequence[str], root: Schema) -> None:
        self.words = words
        self.root = root

    def of(self, form: Any, *, named: bool = False, called: bool = False) -> Any:
        """A part of it, which is about a secret: ``named`` one, or ``called`` one by the schema."""
        if isinstance(form, list):
            return [self.of(each, named=named, called=called) for each in form]
        if not isinstance(form, Mapping):
            return form
        called = called or any(map(calls_secret, opened([form], self.root)))
        shown: dict[str, Any] = {}
        for key, item in form.items():
            if key in VALUES:
                shown[key] = self.value(key, item, form, named=named, called=called)
            elif key in BY_NAME and isinstance(item, Mapping):
                shown[key] = {
                    name: self.of(part, named=named or secret(name, self.words), called=called)
                    for name, part in item.items()
                }
            else:
                shown[key] = self.of(item, named=named, called=called)
        return shown

    def value(self, key: str, item: Any, form: Schema, *, named: bool, called: bool) -> Any:
        """A value that a schema names, or several."""
        if key in ("enum", "examples") and isinstance(item, list):
            return [self.value("", each, form, named=named, called=called) for each in item]
        if (called and given(item)) or (named and has_text(item)):
            return MASK
        return masked(item, self.words, {**form, "$defs": self.root.get("$defs", {})})
