"""``koken steps``: the steps of a run, as a table, or as numbers for scripts."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from koken.cli import output
from koken.cli.common import Common
from koken.cli.output import GAP, STYLES, Column
from koken.cli.place import with_client
from koken.cli.show import Named
from koken.cli.steplines import counts, far, said, took
from koken.client.awaiting import AsyncClient
from koken.model.run import Run
from koken.views import runwords, words
from koken.views import steps as view
from koken.views.steprows import StepRow

COLUMNS = (
    Column("STEP", gives=True),
    Column("RUN", right=True),
    Column("STATE"),
    Column("DONE", right=True),
    Column("TOOK", right=True),
    Column("SAYS", gives=True),
)


def steps(
    ctx: typer.Context,
    run: Named,
    codes: Annotated[
        bool,
        typer.Option(
            "--codes",
            help="Print name and code: -1 failed, 0 not started, 1 waiting for its needs, "
            "2 executing, 3 skipped, 4 completed.",
        ),
    ] = False,
) -> None:
    """List the steps of a run, or the items of a step's run; then what undoes them."""
    common: Common = ctx.obj
    whose, found, undo = with_client(common, lambda client: look(client, run))
    if common.json:
        output.items([*found, *undo])
    elif codes:
        for row in found:
            print(f"{words.plain(row.name)} {row.code}")
    elif not found and not undo:
        output.say(f"{runwords.called(whose)} has no steps.")
    else:
        output.say(
            output.titled(whose), (runwords.word(whose), output.style_of(whose)), GAP, counts(found)
        )
        output.table(COLUMNS, [cells(row) for row in [*found, *undo]])


async def look(client: AsyncClient, named: str) -> tuple[Run[Any], list[StepRow], list[StepRow]]:
    """A run, its steps, and the runs that undo them."""
    run: Run[Any] = await client.get(named)
    db = client.link.views
    return run, await view.steps(db, run), await view.undone(db, run)


def cells(row: StepRow) -> tuple[Text | str, ...]:
    """One step."""
    mark = row.mark
    state = Text(f"{mark.glyph} {mark.word}", STYLES[mark.look])
    number = "–" if row.run_id is None else str(row.run_id)
    told = said(row)
    if told.plain.startswith(mark.word):
        told = told[len(mark.word) :]
        told = told[len(told.plain) - len(told.plain.lstrip(" :")) :]
    return row.name, number, state, far(row), took(row), told


COMMANDS = {"steps": steps}
