from __future__ import annotations

from typing import Any

from koken.define.function import Function
from koken.define.operation import Operation, body_of
from koken.model.outcome import Fail, Snooze


class Draft(Operation[int, str, list[str]]):
    """Drafts elsewhere."""

    async def submit(self, draft: int, key: str) -> str:
        return key

    async def poll(self, draft: int, handle: str) -> list[str] | Snooze | Fail:
        return [handle]


def test_a_body_is_typed_as_its_operation() -> None:
    function = Function(body_of(Draft()), label="draft")
    assert function.argument_names == ("draft",)
    assert function.required == ("draft",)
    assert function.parameters["properties"]["draft"]["type"] == "integer"
    assert function.result.hint == list[str]
    assert function.description == "Drafts elsewhere."
    assert function.is_async
    assert function.takes_context


def test_an_operation_without_hints() -> None:
    class Bare(Operation[Any, Any, Any]):
        def submit(self, item, key):  # type: ignore[no-untyped-def]
            return key

        def poll(self, item, handle):  # type: ignore[no-untyped-def]
            return handle

    function = Function(body_of(Bare()), label="bare")
    assert function.argument_names == ("item",)
    assert function.result.form is None
