"""``koken graph``: the steps of a job or of a run, drawn in the terminal or into a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer
from rich.text import Text

from koken.cli import output
from koken.cli.common import Common
from koken.cli.output import DIM, GAP, STYLES
from koken.cli.place import NoDatabase, address_of_app, read_app, with_client
from koken.cli.show import known_number
from koken.cli.steplines import draw_undone
from koken.client.awaiting import AsyncClient
from koken.errors import DatabaseUnreachable, InvalidArguments
from koken.model.run import Run
from koken.views import words
from koken.views.drawing import Piece, draw, summary
from koken.views.drawingsvg import svg
from koken.views.graph import Graph, graph_of_job, graph_of_run, graph_of_steps
from koken.views.steprows import StepRow
from koken.views.steps import undone

LOOKS = {**STYLES, "name": "bold", "dim": DIM, "rail": DIM, "": ""}


def graph(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="JOB|RUN", callback=known_number, help="A job's name, or a run's number."
        ),
    ],
    svg: Annotated[
        str, typer.Option(metavar="FILE", help="Write a picture into this file; - is the output.")
    ] = "",
) -> None:
    """Draw the steps of a job as they are declared, or of a run as they stand."""
    common: Common = ctx.obj
    try:
        found, undo = with_client(common, lambda client: look(client, what))
    except (DatabaseUnreachable, NoDatabase):
        if what.isdecimal() or not address_of_app(common):
            raise
        found, undo = declared(common, what), []
    if svg:
        write(found, svg)
    elif common.json:
        output.as_json(found.to_json())
    else:
        show(found, undo)


async def look(client: AsyncClient, what: str) -> tuple[Graph, list[StepRow]]:
    """The graph of a run by its number, and what undoes its steps; else of a job by its name."""
    db = client.link.views
    if what.isdecimal():
        run: Run[Any] = await client.get(what)
        return await graph_of_run(db, run), await undone(db, run)
    return await graph_of_job(db, what), []


def declared(common: Common, job: str) -> Graph:
    """The graph of a job as the app at hand declares it, where no database answers."""
    app = read_app(address_of_app(common))
    spec = app.registry.spec(app.registry.get(job))
    print("koken: no database answers; drawn as the app declares it", file=sys.stderr)
    return graph_of_steps(f"{job}, as declared", job, spec.steps, spec.max_attempts)


def write(found: Graph, file: str) -> None:
    """Write the picture. Raises ``InvalidArguments`` for a place that cannot be written to."""
    text = svg(found)
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidArguments(f"{file} cannot be written: {error.strerror}") from error
    output.say(f"{found.title}: {words.counted(len(found.nodes), 'step')} drawn into {file}")


def show(found: Graph, undo: Sequence[StepRow]) -> None:
    """Draw it here, as wide as the terminal; below it what undoes its steps."""
    drawing = draw(found)
    counts = [Text.assemble(GAP, styled([each])) for each in summary(found)]
    output.say((found.title, "bold"), *counts)
    screen = output.console()
    for pieces in drawing.lines:
        line = styled(pieces)
        line.truncate(get_terminal_size((80, 24)).columns, overflow="ellipsis")
        screen.print(line)
    for node in drawing.hidden:
        mark = (f"{node.mark.glyph} ", LOOKS[node.mark.look])
        output.say(mark, (words.plain(node.name), "bold"), GAP, words.plain(node.reason))
    if drawing.left_out:
        output.say((f"… {drawing.left_out:,} more failed", DIM))
    draw_undone(undo)


def styled(pieces: Sequence[Piece]) -> Text:
    """Pieces in the terminal's colours."""
    return Text.assemble(*((words.plain(text), LOOKS[style]) for text, style in pieces))


COMMANDS = {"graph": graph}
