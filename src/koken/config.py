"""Settings: defaults < ``koken.toml`` or ``[tool.koken]`` < environment < arguments.

Unknown keys are errors. Per-job wishes belong to the job and are not here.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from koken.errors import DeclarationError
from koken.model.duration import seconds
from koken.model.rights import HOUSE
from koken.model.timing import DEFAULT, PROFILES, Timing
from koken.model.web import Web, read_web

DAY = 86400.0
SLOTS = range(1, 100_001)
"""How many slots a worker may have in a queue."""
KEEP = {
    "succeeded": 30 * DAY,
    "skipped": 30 * DAY,
    "cancelled": 90 * DAY,
    "failed": 180 * DAY,
    "logs": 30 * DAY,
    "ticks": 90 * DAY,
    "events": 365 * DAY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings of a process."""

    app: str = ""
    """Where the app is: ``module:name``."""
    modules: tuple[str, ...] = ()
    """Modules that declare jobs on it, imported when it is loaded."""
    database_url: str = ""
    listen_url: str = ""
    """A direct address for LISTEN where ``database_url`` leads to a pooler."""
    pooled: bool = False
    """Whether a pooler in transaction mode stands before the database."""
    schema: str = "koken"
    workspace: str = "default"
    queues: Mapping[str, int] = field(default_factory=lambda: {"default": 50})
    """The queues that a worker serves, with its slots for each."""
    grace: float = 30.0
    """Seconds that a stopping worker gives its bodies."""
    timing: Timing = DEFAULT
    keep: Mapping[str, float] = field(default_factory=lambda: dict(KEEP))
    """Seconds that ended runs (by outcome), log lines and ticks are kept."""
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """``[queues.NAME]``: limit, rate and burst, for all workers together."""
    web: Web = field(default_factory=Web)

    def with_settings(self, settings: Mapping[str, Any], source: str) -> Config:
        """A copy with what ``settings`` says. Raises ``DeclarationError`` naming key and source."""
        changes: dict[str, Any] = {}
        for key, value in settings.items():
            reader = READERS.get(key)
            if reader is None:
                close = difflib.get_close_matches(key, READERS, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise DeclarationError(f"{source}: there is no setting {key!r}.{hint}")
            try:
                changes |= reader(value, self)
            except (ValueError, TypeError) as error:
                raise DeclarationError(f"{source}: {key}: {error}") from None
        return replace(self, **changes)


def text(name: str) -> Any:
    """A reader of a setting that is a text."""

    def read(value: Any, _: Config) -> dict[str, Any]:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is no text")
        return {name: value}

    return read


def read_workspace(value: Any, config: Config) -> dict[str, Any]:
    """The name of a workspace that one may choose."""
    if value == HOUSE:
        raise ValueError(f"{HOUSE} is no workspace that one may choose")
    return dict(text("workspace")(value, config))


def truth(value: Any) -> bool:
    """A yes or no, as TOML or the environment has it."""
    if isinstance(value, bool):
        return value
    plain = str(value).lower()
    if plain in ("1", "true", "yes", "on"):
        return True
    if plain in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def read_queues(value: Any) -> dict[str, int]:
    """Slots by queue, from a table or from texts such as ``reports:4``."""
    if isinstance(value, str):
        value = value.split()
    if isinstance(value, list | tuple):
        value = dict(pair(each) for each in value)
    if not isinstance(value, Mapping) or not value:
        raise ValueError("write it as {reports = 4, default = 50}")
    for name, slots in value.items():
        if isinstance(slots, bool) or not isinstance(slots, int) or slots not in SLOTS:
            raise ValueError(f"queue {name} has {slots!r} slots; slots count from 1 to {SLOTS[-1]}")
    return dict(value)


def pair(value: str) -> tuple[str, int]:
    """``reports:4`` as its two parts; without a number, 10 slots."""
    name, _, slots = value.partition(":")
    if not name or (slots and not slots.isdigit()):
        raise ValueError(f"{value!r} is no queue; write it as reports:4")
    return name, int(slots) if slots else 10


def read_worker(value: Any, config: Config) -> dict[str, Any]:
    """``worker = {queues = {…}, grace = "5m"}``."""
    if not isinstance(value, Mapping):
        raise ValueError("write it as {queues = {default = 50}, grace = '30s'}")
    changes: dict[str, Any] = {}
    for key, item in value.items():
        if key == "queues":
            changes["queues"] = read_queues(item)
        elif key == "grace":
            changes["grace"] = seconds(item, name="grace")
        else:
            raise ValueError(f"there is no worker setting {key!r}; there are queues and grace")
    return changes


def read_timing(value: Any, config: Config) -> dict[str, Any]:
    """A profile's name, or single constants that differ from the profile."""
    if isinstance(value, str):
        if value not in PROFILES:
            raise ValueError(f"{value!r} is no profile; there are {', '.join(PROFILES)}")
        return {"timing": PROFILES[value]}
    if not isinstance(value, Mapping):
        raise ValueError("write it as 'fast' or {beat = '5s', …}")
    known = [each.name for each in fields(Timing)]
    for key in value:
        if key not in known:
            raise ValueError(f"there is no {key!r}; there are {', '.join(known)}")
    given = {key: seconds(item, name=key) for key, item in value.items()}
    return {"timing": replace(config.timing, **given)}


def read_keep(value: Any, config: Config) -> dict[str, Any]:
    """How long what is kept."""
    if not isinstance(value, Mapping):
        raise ValueError("write it as {succeeded = '30d', failed = '180d'}")
    for key in value:
        if key not in KEEP:
            raise ValueError(f"nothing is called {key!r}; there are {', '.join(KEEP)}")
    return {"keep": {**config.keep, **{k: seconds(v, name=k) for k, v in value.items()}}}


def read_limits(value: Any, config: Config) -> dict[str, Any]:
    """``[queues.google] limit = 4, rate = "10/s"``."""
    if not isinstance(value, Mapping):
        raise ValueError("write it as [queues.google] with limit and rate")
    limits: dict[str, dict[str, Any]] = {}
    for name, item in value.items():
        limits[name] = {}
        for key, number in item.items():
            if key == "limit":
                limits[name]["limit"] = whole(number, f"queue {name}: limit", least=0)
            elif key == "rate":
                limits[name]["rate"] = read_rate(number)
            elif key == "burst":
                limits[name]["burst"] = whole(number, f"queue {name}: burst", least=1)
            else:
                raise ValueError(f"queue {name} has no {key!r}; it has limit, rate and burst")
    return {"limits": limits}


def whole(value: Any, what: str, *, least: int) -> int:
    """A whole number that PostgreSQL's integer holds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
        raise ValueError(f"{what} is {value!r}; it is a whole number from {least}")
    return value


def read_rate(value: str | float) -> float:
    """Starts a second, from ``10/s``, ``600/m`` or ``1000/h``. Raises ``ValueError``."""
    number, slash, unit = str(value).partition("/")
    try:
        rate = float(number) / {"s": 1, "m": 60, "h": 3600}[unit if slash else "s"]
    except (KeyError, ValueError):
        raise ValueError(f"rate is {value!r}; write it as 10/s, 600/m or 1000/h") from None
    if not 1e-9 <= rate <= 1e6:
        raise ValueError(f"rate is {value!r}; it is more than 0 and at most 1000000/s")
    return rate


READERS: dict[str, Any] = {
    "app": text("app"),
    "modules": lambda value, _: {
        "modules": tuple(value.split() if isinstance(value, str) else value)
    },
    "database_url": text("database_url"),
    "listen_url": text("listen_url"),
    "pooled": lambda value, _: {"pooled": truth(value)},
    "schema": text("schema"),
    "workspace": read_workspace,
    "worker": read_worker,
    "timing": read_timing,
    "keep": read_keep,
    "queues": read_limits,
    "web": lambda value, config: {"web": read_web(value, config.web)},
}
ENVIRONMENT = {
    "KOKEN_APP": "app",
    "KOKEN_DATABASE_URL": "database_url",
    "KOKEN_LISTEN_URL": "listen_url",
    "KOKEN_POOLED": "pooled",
    "KOKEN_SCHEMA": "schema",
    "KOKEN_WORKSPACE": "workspace",
    "KOKEN_TIMING": "timing",
}
WEB_ENVIRONMENT = {
    "KOKEN_WEB_HOST": "host",
    "KOKEN_WEB_PORT": "port",
    "KOKEN_WEB_URL": "url",
    "KOKEN_OIDC_ISSUER": "issuer",
    "KOKEN_OIDC_CLIENT_ID": "client_id",
    "KOKEN_OIDC_CLIENT_SECRET": "client_secret",
}


def load(
    settings: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> Config:
    """The settings of this process; ``settings`` are arguments and win over all else.

    Looks for ``koken.toml``, then ``[tool.koken]`` in ``pyproject.toml``, in ``folder`` (default:
    where the process runs). Raises ``DeclarationError`` for unknown keys and bad values.
    """
    config = Config()
    found = from_files(folder or Path.cwd())
    if found:
        config = config.with_settings(found[1], found[0])
    named = {
        key: environment[variable]
        for variable, key in ENVIRONMENT.items()
        if environment.get(variable)
    }
    doors = {
        key: environment[variable]
        for variable, key in WEB_ENVIRONMENT.items()
        if environment.get(variable)
    }
    config = config.with_settings(named | ({"web": doors} if doors else {}), "environment")
    return config.with_settings(dict(settings or {}), "settings of the app")


def from_files(folder: Path) -> tuple[str, Mapping[str, Any]] | None:
    """The file's name and what it says, if there is one."""
    own = folder / "koken.toml"
    if own.is_file():
        return own.name, from_toml(own)
    project = folder / "pyproject.toml"
    if project.is_file():
        tool = from_toml(project).get("tool", {})
        if "koken" in tool:
            return "pyproject.toml [tool.koken]", tool["koken"]
    return None


def from_toml(file: Path) -> dict[str, Any]:
    """What a file says. Raises ``DeclarationError`` that names it."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{file} is no TOML: {error}") from None
