"""Delivers endings in batches, as fast as commits return; nothing that a body answered is lost."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence

from koken.engine.finish import Ending, Finished, finish
from koken.errors import DatabaseUnreachable, KokenError
from koken.model.run import Failure
from koken.model.states import State
from koken.runtime.service import LONGEST_REST, Service
from koken.store.database import Database

BATCH = 500


class Finisher(Service):
    """One deliverer for all endings of a worker.

    ``on_finished`` is told what each batch came to. A batch stays in memory until the database has
    answered; one ending that poisons it is found by halves, and fails its own run alone.
    """

    name = "finisher"

    def __init__(
        self, db: Database, on_finished: Callable[[Sequence[Ending], Finished], None]
    ) -> None:
        super().__init__()
        self.db = db
        self.on_finished = on_finished
        self.endings: deque[Ending] = deque()

    def add(self, ending: Ending) -> None:
        """Deliver an ending soon."""
        self.endings.append(ending)
        self.ring()

    async def turn(self) -> float:
        """Deliver a batch."""
        if not self.endings:
            return LONGEST_REST
        batch = [self.endings.popleft() for _ in range(min(len(self.endings), BATCH))]
        await self.deliver(batch)
        return 0

    async def deliver(self, batch: list[Ending]) -> None:
        """Deliver these, or put back what was not."""
        try:
            done = await finish(self.db, batch)
        except DatabaseUnreachable:
            self.endings.extendleft(reversed(batch))
            raise
        except KokenError as error:
            await self.divide(batch, error)
            return
        if done.stale:
            self.logger.warning("endings of runs %s came too late; others carry them", done.stale)
        self.on_finished(batch, done)

    async def divide(self, batch: list[Ending], error: KokenError) -> None:
        """Find the ending that the database refuses, by halves."""
        if len(batch) == 1:
            await self.deliver_refused(batch[0], error)
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            await self.deliver(half)

    async def deliver_refused(self, ending: Ending, error: KokenError) -> None:
        """End a run whose answer cannot be stored, with that reason."""
        if ending.outcome == "refused":
            raise error
        self.logger.error("the answer of run %s cannot be stored: %s", ending.id, error)
        failure = Failure(type="Unstorable", message=f"its answer cannot be stored: {error}")
        await self.deliver(
            [
                Ending(
                    ending.id,
                    ending.lease,
                    State.FAILED,
                    "refused",
                    error=json.dumps(failure.to_json()),
                    took=ending.took,
                )
            ]
        )
