"""Steps far down, named as plans print them: ``sub/b``, ``each[2]/b``, ``412/through``."""

from __future__ import annotations

from koken.engine.ground import RECORDED, Ground, Part
from koken.errors import NotFound
from koken.store.database import Database, Transaction


async def find(db: Database, run_id: int, path: str) -> tuple[int, str | None]:
    """The run to which a way leads and the step there; None: that run itself.

    Raises ``NotFound``.
    """
    return await db.run(lambda tx: found(tx, run_id, path))


async def found(tx: Transaction, run_id: int, path: str) -> tuple[int, str | None]:
    """Goes the way, from run to run."""
    ground = Ground(tx)
    run, rest = await ground.part(run_id), path
    while "/" in rest and not await has(ground, run, rest):
        head, _, rest = rest.partition("/")
        if head.isascii() and head.isdecimal() and len(head) < 19:
            run = await kin(ground, run, int(head))
            if rest == run.job and not await ground.is_flow(run):
                return run.id, None
        else:
            run = await below(ground, run, head, rest)
    return run.id, rest


async def has(ground: Ground, run: Part, name: str) -> bool:
    """Whether a run has a step of that very name, whatever is in it."""
    if await ground.is_flow(run):
        return name in (await ground.flow(run.id)).specs
    rows = await ground.tx.fetch(RECORDED, run.id)
    return any(row["key"].partition(":")[2] == name for row in rows)


async def below(ground: Ground, run: Part, name: str, rest: str) -> Part:
    """The run that a step or an item has started last."""
    if not await ground.is_flow(run):
        raise NotFound(f"run {run.id} has no step {f'{name}/{rest}'!r}")
    starter = await ground.named(await ground.flow(run.id), name)
    children = await ground.last_children([starter.id])
    if not children:
        raise NotFound(f"{starter.called} has started no run; there is no {f'{name}/{rest}'!r}")
    return children[0]


async def kin(ground: Ground, run: Part, other_id: int) -> Part:
    """A run above or below another, or beside it. Raises ``NotFound`` for any else."""
    other = await ground.part(other_id)
    if (await top(ground, run)).id != (await top(ground, other)).id:
        raise NotFound(f"run {other.id} is no part of what run {run.id} is a part of")
    return other


async def top(ground: Ground, run: Part) -> Part:
    """The run that nothing is above."""
    while run.parent_id is not None:
        run = await ground.part(run.parent_id)
    return run
