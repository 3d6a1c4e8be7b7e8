"""What a program that awaits says to a run: to end, a signal, an answer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from typing_extensions import TypeVar

from koken.client import speaking
from koken.client.arguments import said
from koken.client.link import Link
from koken.engine import control, durable
from koken.engine.durable import Question
from koken.errors import Refused
from koken.model.run import Run

R = TypeVar("R", default=Any)


class AsyncSteering:
    """The verbs that speak to a run which goes."""

    link: Link

    @property
    @abstractmethod
    def who(self) -> str:
        """Who acts."""

    @abstractmethod
    def alone(self, verb: str) -> None:
        """Refuse a verb that has a transaction of its own inside a caller's, by a TypeError."""

    @abstractmethod
    async def get(self, run: Run[R] | int | str) -> Run[R]:
        """A fresh snapshot."""

    async def cancel(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        """End a run for good; one that runs is asked to stop, and ends when its worker confirms.

        Raises ``NotFound``, and ``Refused`` for a run that has ended already.
        """
        self.alone("cancel")
        why = said("reason", reason) or None
        found = await self.get(run)
        done = await control.cancel(self.link.db, found.id, by=self.who, reason=why)
        after: Run[R] = await self.get(found.id)
        if done.verdict == "over":
            ended = f"has ended already ({after.state})"
            why_not = ended if after.state.ended else "does not begin any more"
            raise Refused(f"{after.job} {after.id} {why_not}", what=f"run {after.id}")
        return after

    async def signal(
        self, run: Run[R] | int | str, name: str, value: Any = None, /, *, reason: str = ""
    ) -> Run[R]:
        """Send a signal to a run, which takes it when it waits for one of that name.

        ``value`` is what has a JSON form. Raises ``NotFound``, ``Refused`` for a run that has
        ended, ``InvalidArguments`` for a name that is none, for a value that cannot be kept, and
        for one that does not fit the type for which the run waits.
        """
        self.alone("signal")
        said("name", name)
        why = said("reason", reason) or None
        found = await self.get(run)
        text = speaking.signal_text(name, value)
        forms = await durable.awaited_forms(self.link.db, found.id, name)
        speaking.check_signal(name, text, forms)
        await durable.send_signal(self.link.db, found.id, name, text, by=self.who, reason=why)
        return await self.get(found.id)

    async def answer(
        self, run: Run[R] | int | str, question: str, value: Any, /, *, reason: str = ""
    ) -> Run[R]:
        """Answer a question of a run; ``question`` is its text, ``""`` the only one there is.

        Raises ``NotFound`` when the run asks no such question, ``InvalidArguments`` when the value
        does not fit it, ``Refused`` when somebody else was faster.
        """
        self.alone("answer")
        said("question", question)
        why = said("reason", reason) or None
        found = await self.get(run)
        asked = speaking.chosen(await self.questions(found), question, found)
        text = speaking.answer_text(asked, value)
        await durable.answer_question(
            self.link.db, found.id, asked.key, text, by=self.who, reason=why
        )
        return await self.get(found.id)

    async def questions(self, run: Run[Any] | int | str) -> list[Question]:
        """What a run asks people, and nobody has answered yet."""
        self.alone("questions")
        return await durable.open_questions(self.link.db, (await self.get(run)).id)
