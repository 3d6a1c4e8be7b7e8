"""What a program says to a run over HTTP: to end, a signal, an answer."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar, override

from koken.client.arguments import said
from koken.client.remoteasking import RemoteAsking, way
from koken.client.speaking import signal_text, text_of
from koken.client.steering import AsyncSteering
from koken.engine.durable import Question
from koken.model import codec
from koken.model.run import Run

R = TypeVar("R", default=Any)


class RemoteSteering(RemoteAsking, AsyncSteering):
    """The verbs of ``AsyncSteering`` over HTTP."""

    @override
    async def cancel(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        return await self.changed(run, "cancellations", reason=said("reason", reason))

    @override
    async def signal(
        self, run: Run[R] | int | str, name: str, value: Any = None, /, *, reason: str = ""
    ) -> Run[R]:
        text = signal_text(said("name", name), value)
        given = {"name": name, "value": codec.decode(text)}
        return await self.changed(run, "signals", reason=said("reason", reason), **given)

    @override
    async def answer(
        self, run: Run[R] | int | str, question: str, value: Any, /, *, reason: str = ""
    ) -> Run[R]:
        text = text_of("answer", value)
        given = {"question": said("question", question), "value": codec.decode(text)}
        return await self.changed(run, "answers", reason=said("reason", reason), **given)

    @override
    async def questions(self, run: Run[Any] | int | str) -> list[Question]:
        found = await self.read(f"{way(run)}/questions")
        return [Question.from_json(plain) for plain in found["items"]]
