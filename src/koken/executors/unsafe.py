"""Steps that may not run twice: ``effect="unsafe"``. That one begins is recorded before it does.

A step whose attempt was cut short, by a lost worker or a kill, is refused then: nobody knows what
it has done. What raised by itself may be tried again, and so may all in a new attempt.
"""

from __future__ import annotations

from koken.errors import Refused
from koken.executors.failures import FINAL
from koken.executors.targets import Item
from koken.executors.way import Way
from koken.model import codec

BEGUN = "begun:"
OVER = -1


async def begin(way: Way, item: Item) -> None:
    """Put down that a step begins. Raises ``Refused`` when it had begun before."""
    known = way.kept.get(BEGUN + item.key)
    if known is not None and codec.decode(known.value) == way.past.spent:
        error = Refused(
            f"step {item.name!r} of run {way.assignment.run_id} had begun when its attempt was cut "
            "short, and says that it may not run twice (effect='unsafe'). See what it has done; "
            "then retry the run, or resolve it",
            what=f"run {way.assignment.run_id}",
        )
        error.__dict__[FINAL] = True
        raise error
    await way.keep(BEGUN + item.key, str(way.past.spent), overwrite=True)


async def ended(way: Way, item: Item) -> None:
    """Put down that it has ended by itself, with an error."""
    await way.keep(BEGUN + item.key, str(OVER), overwrite=True)
