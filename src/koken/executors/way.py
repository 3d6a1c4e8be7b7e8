"""The way of a body through its steps: what earlier passes recorded, and how this one compares.

In the body's own task (or thread) the order of steps is compared; what goes on beside it, in tasks
of ``gather`` or in ``map``, has only its name. A body that is left and entered again must come by
what it has recorded. Otherwise nothing fits, and it is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from koken.errors import DatabaseUnreachable, LeaseLost, WorkflowChanged
from koken.executors.base import Answer, Assignment, Broken, Host, Parked, Parting, Undoing
from koken.executors.failures import failure_of
from koken.executors.hands import Hands
from koken.executors.parking import Failed, LeftBehind, Swallowed, merged
from koken.executors.records import called, undone
from koken.executors.stopping import Going
from koken.model.durable import FAILED, MAP, PAST_AN_ERROR, STEP, WAIT, Entry, Kept, Past, key_of

T = TypeVar("T")
inside: ContextVar[tuple[object, ...]] = ContextVar("koken_inside", default=())
"""The steps within which this task goes."""


class Way:
    """One pass through a body. All contexts of the pass share it."""

    __slots__ = (
        "active",
        "asking",
        "assignment",
        "changed",
        "count",
        "failures",
        "going",
        "hands",
        "host",
        "idle",
        "left_in",
        "loaded",
        "owner",
        "parks",
        "past",
        "places",
        "strayed",
        "used",
        "waits",
    )

    def __init__(self, assignment: Assignment, host: Host, going: Going, hands: Hands) -> None:
        self.assignment = assignment
        self.host = host
        self.going = going
        self.hands = hands
        self.owner = hands.strand()
        """The task or thread whose steps have an order."""
        self.past = Past()
        self.loaded = False
        self.places: dict[int, str] = {}
        """Recorded keys by their place."""
        self.used: set[str] = set()
        """The keys that this pass has come by."""
        self.count = 0
        self.strayed = False
        """Whether a step has failed in this pass: the order after that is not compared."""
        self.failures: dict[str, Failed] = {}
        """Steps that failed in this pass for good: recorded if the body is left to wait."""
        self.waits: dict[str, int] = {}
        self.asking = 0
        """How many waits there are of which it is just being asked how they stand."""
        self.active: set[object] = set()
        self.idle: set[object] = set()
        self.changed: asyncio.Event | None = None
        self.parks: list[Answer] = []
        self.left_in: set[int] = set()
        """Where a ``Parting`` was raised: who calls again there has swallowed it."""

    # --- what stands ---------------------------------------------------------------------------

    @property
    def kept(self) -> dict[str, Kept]:
        """What the run has recorded, this pass included."""
        return self.past.kept

    @property
    def undo(self) -> str | None:
        """What this pass undoes, as in ``Assignment``; None: nothing, it goes forward.

        So does what undoes a step of a workflow, which is a body of its own.
        """
        return self.assignment.undo or None

    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """What the host gives; leaves the body when its run is another worker's, and when the
        database does not answer, which is no error of the body."""
        try:
            return await self.hands.ask(work)
        except LeaseLost:
            self.going.leave("lost")
        except DatabaseUnreachable as error:
            self.going.check(self.host)
            await self.leave(Broken(failure_of(error)))

    async def load(self) -> None:
        """Ask for the past, once."""
        if not self.loaded:
            self.past = await self.ask(self.host.checkpoints())
            self.places = {
                each.ordinal: key for key, each in self.past.kept.items() if each.ordinal
            }
            self.loaded = True

    async def keep(
        self,
        key: str,
        text: str,
        *,
        overwrite: bool = False,
        ordinal: int | None = None,
        undo: bool = False,
        unwind: bool = False,
        entries: Sequence[Entry] = (),
    ) -> str:
        """Keep a checkpoint; gives what stands there now."""
        if undo or unwind:
            await self.keep_failures()  # what undoes it must come by them
        work = self.host.keep(
            key,
            text,
            overwrite=overwrite,
            ordinal=ordinal,
            undo=undo,
            unwind=unwind,
            entries=entries,
        )
        stands = await self.ask(work)
        self.past.kept[key] = Kept(stands, ordinal, undo)
        return stands

    async def keep_failures(self) -> None:
        """Keep how steps have failed for good in this pass: another one must come by them."""
        while self.failures:
            key, failed = self.failures.popitem()
            await self.keep(FAILED + key, failed.dump(), overwrite=True)

    # --- coming by -----------------------------------------------------------------------------

    def check(self) -> None:
        """Leave the body here when it is to stop, or was left before."""
        self.going.check(self.host)
        if not self.parks:
            return
        if self.hands.strand() in self.left_in:
            raise Swallowed(self.parks)
        if self.left_in:
            self.part()

    def enter(self, kind: str, name: str) -> tuple[str, int | None]:
        """Come by a step; gives its key and its place. ``load`` goes before.

        Raises ``ValueError`` the second time, ``WorkflowChanged`` when another stands there.
        """
        self.check()
        if not name or not isinstance(name, str):
            raise ValueError(f"a step needs a name; this one has {name!r}")
        if STEP + name in self.used or MAP + name in self.used:
            raise ValueError(f"step {name!r} is used twice; the name of a step is unique in a run")
        return self.pass_by(kind + name)

    def enter_wait(self, told: str) -> tuple[str, int | None]:
        """As ``enter``, for a wait: its key is its place, or in other tasks what it waits for."""
        self.check()
        if self.hands.strand() == self.owner and not self.strayed:
            return self.pass_by(f"{WAIT}{self.count + 1}")
        number = self.waits[told] = self.waits.get(told, 0) + 1
        return self.pass_by(key_of(WAIT, told) + (f" #{number}" if number > 1 else ""))

    def pass_by(self, key: str) -> tuple[str, int | None]:
        """Compare a key's place with the recorded one."""
        self.used.add(key)
        if self.hands.strand() != self.owner:
            return key, None
        if self.strayed:
            return key, PAST_AN_ERROR
        self.count += 1
        if self.places:
            self.compare(key)
        return key, self.count

    def compare(self, key: str) -> None:
        """Raise ``WorkflowChanged`` when something else is recorded here, or this elsewhere."""
        other = self.places.get(self.count)
        if other is not None and other != key:
            raise self.drift(
                f"place {self.count} has {called(other)} on record, and the body comes to "
                f"{called(key)} there"
            )
        recorded = self.past.kept.get(key)
        if recorded is not None and recorded.ordinal and recorded.ordinal != self.count:
            raise self.drift(
                f"{called(key)} is on record at place {recorded.ordinal}, and the body comes to it "
                f"at place {self.count}"
            )

    def drift(self, what: str) -> WorkflowChanged:
        """The steps under this run are not what they were."""
        facts = self.assignment
        whole = facts.run_id if facts.step is None else facts.root_id
        return WorkflowChanged(
            f"{facts.job} was changed while run {facts.run_id} was on its way: {what}. Put the "
            f"steps back as they were, or start anew: koken rerun {whole}"
        )

    def finish(self) -> None:
        """The body has returned. Raises ``WorkflowChanged`` when it passed over what is recorded,
        ``Swallowed`` when it was to be left, ``LeftBehind`` when only a task of it was."""
        if self.owner in self.left_in:
            raise Swallowed(self.parks)
        if self.parks:
            raise LeftBehind(self.parks)
        missed = [
            key
            for key, each in self.past.kept.items()
            if key.startswith((STEP, MAP, WAIT)) and each.ordinal != PAST_AN_ERROR
            and key not in self.used
        ]  # fmt: skip
        if missed:
            raise self.drift(f"{called(missed[0])} is on record, and the body returned without it")

    # --- leaving -------------------------------------------------------------------------------

    async def leave(self, *answers: Answer) -> NoReturn:
        """Leave the body with these answers once nothing of it is at work any more."""
        self.parks += answers
        self.idle.update(inside.get())
        self.notify()
        waits = any(isinstance(each, Parked) for each in answers)
        if waits:
            await self.keep_failures()
        try:
            # what its other tasks are about to wait for is known before it waits
            await self.hands.until(
                lambda: not (self.active - self.idle or (waits and self.asking)), self
            )
        except asyncio.CancelledError:  # the body itself does not wait for this any more
            self.parks = [each for each in self.parks if each not in answers]
            raise
        self.going.check(self.host)
        await self.look_again()
        self.part()

    async def settled(self) -> None:
        """Until it is known of all waits of its tasks how they stand; cancelled ones are none."""
        if self.parks or self.asking:
            await self.hands.until(lambda: not self.asking, self)

    async def look_again(self) -> None:
        """Several children are waited for, each seen at its own time: look at all of them at once.

        One that has ended meanwhile wakes the run at once.
        """
        waits = [each for each in self.parks if isinstance(each, Parked)]
        children = [each for each in waits if each.cause == "children" and each.seconds is None]
        if len(children) < 2 or len(waits) < len(self.parks):
            return
        ids = [int(each.wait_for) for each in children]
        ended, count = await self.ask(self.host.open_children(ids))
        looked = [each for each in self.parks if each not in children]
        seconds = 0.0 if ended else None
        self.parks = looked + [replace(each, seen_open=count, seconds=seconds) for each in children]

    @contextmanager
    def working(self) -> Iterator[None]:
        """Something of the body is at work meanwhile, and the body is not left."""
        token = object()
        self.active.add(token)
        within = inside.set((*inside.get(), token))
        try:
            yield
        finally:
            inside.reset(within)
            self.active.discard(token)
            self.idle.discard(token)
            self.notify()

    def part(self) -> NoReturn:
        """Leave the body here and now."""
        self.left_in.add(self.hands.strand())
        raise Parting(merged(self.parks))

    def notify(self) -> None:
        """Something has begun to wait, or ended."""
        if self.changed is not None:
            self.changed.set()

    def undone(self) -> Undoing:
        """What is to be undone, in the order in which it was completed; last what is in flight."""
        return undone(self.kept)
