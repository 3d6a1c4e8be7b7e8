"""What people and programs say to a run that waits: answers to its questions, signals."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from koken.web.access.door import Someone
from koken.web.acting import RIGHT_OF
from koken.web.api.answered import Once
from koken.web.api.asked import Reasoned
from koken.web.api.lists import listed, reply
from koken.web.api.models import Brief, Listed, QuestionShown, RunShown
from koken.web.masking import refuse_mask
from koken.web.shown import run_shown

router = APIRouter(tags=["runs"], route_class=Once)


class AnswerAsked(Reasoned):
    """An answer to a question."""

    question: str = Field("", description="Its text or key; empty: the only one that there is.")
    value: Any = Field(None, description="What fits the form of the question.")


class SignalAsked(Reasoned):
    """A signal."""

    name: str
    value: Any = None


@router.get(
    "/runs/{run}/questions",
    summary="What a run asks people",
    responses={200: {"model": Listed[QuestionShown]}},
)
async def get_questions(run: str, visit: Someone) -> Response:
    """Those that nobody has answered yet: all of them, for it waits for each."""
    there, found = await visit.run(run)
    return listed(each.to_json() for each in await there.client.questions(found.id))


@router.post(
    "/runs/{run}/answers",
    summary="Answer a question of a run",
    responses={200: {"model": RunShown | Brief}},
)
async def answer_question(run: str, body: AnswerAsked, visit: Someone) -> Response:
    """The run as it stands then."""
    there, found = await visit.run(run, RIGHT_OF["answer"])
    refuse_mask("value", body.value, there.house.web.mask)
    after = await there.client.answer(found.id, body.question, body.value, reason=body.reason)
    return reply(run_shown(there, after))


@router.post(
    "/runs/{run}/signals",
    summary="Send a signal to a run",
    responses={200: {"model": RunShown | Brief}},
)
async def send_signal(run: str, body: SignalAsked, visit: Someone) -> Response:
    """It takes it when it waits for one of that name; one that comes before is kept."""
    there, found = await visit.run(run, RIGHT_OF["signal"])
    refuse_mask("value", body.value, there.house.web.mask)
    after = await there.client.signal(found.id, body.name, body.value, reason=body.reason)
    return reply(run_shown(there, after))
