"""The commands by theme; only the module of the one that is asked for is imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence

import typer
from typer.main import get_command

from koken.cli.common import EVERYWHERE, Common

Command = Callable[..., int | None]
Group = Mapping[str, Command]
"""Commands under a word of their own: ``koken user add``."""
THEMES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "work": {
        "koken.cli.dev": ("dev",),
        "koken.cli.worker": ("worker",),
        "koken.cli.web": ("web",),
        "koken.cli.upkeep": ("migrate", "prune"),
        "koken.cli.doctor": ("doctor",),
    },
    "start": {"koken.cli.start": ("run",), "koken.cli.backfill": ("backfill",)},
    "read": {
        "koken.cli.lists": ("jobs", "runs"),
        "koken.cli.show": ("show",),
        "koken.cli.why": ("why",),
        "koken.cli.steps": ("steps",),
        "koken.cli.graph": ("graph",),
        "koken.cli.follow": ("logs", "wait"),
        "koken.cli.watch": ("watch",),
        "koken.cli.calendar": ("schedules", "ticks"),
        "koken.cli.expressions": ("next",),
        "koken.cli.floor": ("queues", "workers"),
        "koken.cli.locks": ("locks", "unlock"),
        "koken.cli.record": ("events",),
    },
    "mend": {
        "koken.cli.mend": (
            "cancel",
            "retry",
            "skip",
            "resolve",
            "mark",
            "rerun",
            "fork",
            "acknowledge",
        ),
        "koken.cli.bulk": ("bulk",),
        "koken.cli.speak": ("signal", "answer"),
        "koken.cli.lanes": ("queue", "pause", "resume"),
    },
    "access": {
        "koken.cli.access": ("user",),
        "koken.cli.tokens": ("token",),
        "koken.cli.hook": ("hook",),
    },
}
"""Theme → module → its commands, in the order in which they are listed."""


def carry_out(words: Sequence[str], common: Common) -> int:
    """Find the command and call it."""
    program = get_command(program_for(words[0]))
    result = program.main(list(words), prog_name="koken", standalone_mode=False, obj=common)
    return result if isinstance(result, int) else 0


def program_for(name: str) -> typer.Typer:
    """A program with the command ``name``; with all of them where that is none of ours."""
    program = typer.Typer(
        add_completion=False,
        rich_markup_mode="rich",
        help="Koken runs an application's background work on time, once, and where it can be seen.",
        epilog=EVERYWHERE,
    )
    program.callback()(nothing)
    wanted = [module for module, names in modules().items() if name in names]
    for theme, those in THEMES.items():
        for module in those:
            if not wanted or module in wanted:
                for command, found in commands(module).items():
                    add(program, theme, command, found)
    return program


def add(program: typer.Typer, theme: str, name: str, found: Command | Group) -> None:
    """Put a command, or a group of them, under its theme."""
    if not isinstance(found, Mapping):
        program.command(name, rich_help_panel=theme, epilog=EVERYWHERE)(found)
        return
    group = typer.Typer(no_args_is_help=True, epilog=EVERYWHERE)
    group.callback()(nothing)
    for command, function in found.items():
        group.command(command, epilog=EVERYWHERE)(function)
    told = f"{', '.join(found)}: see koken {name} --help"
    program.add_typer(group, name=name, rich_help_panel=theme, help=told)


def nothing() -> None:
    """A group needs a function of its own."""


def modules() -> dict[str, Sequence[str]]:
    """Module → its commands."""
    return {module: names for theme in THEMES.values() for module, names in theme.items()}


def commands(module: str) -> Mapping[str, Command | Group]:
    """The commands of a module, by name."""
    found: Mapping[str, Command | Group] = importlib.import_module(module).COMMANDS
    return found
