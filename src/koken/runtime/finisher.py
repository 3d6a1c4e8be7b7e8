"""Delivers endings in batches, as fast as commits return; nothing that a body answered is lost."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from koken.engine.claim import Room
from koken.engine.finish import SPENDS_ATTEMPT, Ending, Finished, finish
from koken.errors import KokenError
from koken.model import codec
from koken.model.runparts import Failure
from koken.model.states import State
from koken.runtime.service import LONGEST_REST, Service
from koken.store.database import Database
from koken.store.failures import concerns_data

BATCH = 500
REFUSED = "refused"
"""The outcome of a run whose answer the database has refused."""
BATCH_SIZE = 32 << 20
"""Characters of results and errors in one batch; PostgreSQL takes no message over 1 GB."""


class Finisher(Service):
    """One deliverer for all endings of a worker.

    ``room`` says what of that which becomes ready is taken at once; ``on_doubt`` is called when it
    is not known whether it was. ``on_finished`` is told what each batch came to. A batch stays in
    memory until the database has answered; one ending that poisons it is found by halves, and
    fails its own run alone.
    """

    name = "finisher"

    def __init__(
        self,
        db: Database,
        on_finished: Callable[[Sequence[Ending], Finished], Awaitable[None]],
        *,
        room: Callable[[], Room],
        on_doubt: Callable[[], None],
    ) -> None:
        super().__init__()
        self.db = db
        self.on_finished = on_finished
        self.room = room
        self.on_doubt = on_doubt
        self.endings: deque[Ending] = deque()

    def add(self, ending: Ending) -> None:
        """Deliver an ending soon."""
        self.endings.append(ending)
        self.ring()

    async def turn(self) -> float:
        """Deliver a batch."""
        if not self.endings:
            return LONGEST_REST
        await self.deliver(self.batch())
        return 0

    def batch(self) -> list[Ending]:
        """The next endings, as many as go together."""
        batch: list[Ending] = []
        size = 0
        while self.endings and len(batch) < BATCH and size < BATCH_SIZE:
            ending = self.endings.popleft()
            size += len(ending.result or "") + len(ending.error or "")
            batch.append(ending)
        return batch

    async def deliver(self, batch: list[Ending]) -> None:
        """Deliver these, or put back what was not."""
        try:
            done = await finish(self.db, batch, self.room())
        except BaseException as error:
            self.on_doubt()
            if isinstance(error, KokenError) and concerns_data(error):
                await self.divide(batch, error)
                return
            self.endings.extendleft(reversed(batch))
            raise
        if done.stale:
            self.logger.warning("endings of runs %s came too late; others carry them", done.stale)
        await self.on_finished(batch, done)

    async def divide(self, batch: list[Ending], error: KokenError) -> None:
        """Find the ending that the database refuses, by halves."""
        if len(batch) == 1:
            await self.deliver_refused(batch[0], error)
            return
        first, second = batch[: len(batch) // 2], batch[len(batch) // 2 :]
        try:
            await self.deliver(first)
        except BaseException:
            self.endings.extendleft(reversed(second))
            raise
        await self.deliver(second)

    async def deliver_refused(self, ending: Ending, error: KokenError) -> None:
        """End a run whose answer cannot be stored, with that reason.

        What is refused then is not for its data: it waits behind all others, as if the database
        were away.
        """
        if ending.outcome == REFUSED:
            self.endings.append(ending)
            raise error
        self.logger.error("the answer of run %s cannot be stored: %s", ending.id, error)
        message = codec.clean(f"its answer cannot be stored: {error}")
        failure = json.dumps(Failure(type="Unstorable", message=message).to_json())
        await self.deliver(
            [
                replace(
                    ending,
                    state=State.FAILED,
                    outcome=REFUSED,
                    spent=SPENDS_ATTEMPT,
                    wait_cause=None,
                    wait_for=None,
                    result=None,
                    error=failure,
                )
            ]
        )
