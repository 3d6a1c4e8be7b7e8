"""Shows what was measured: a table for each measurement, its targets, and everything as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from bench.lab import SETTINGS
from bench.plan import FLOOR, OURS, Figure, Measure, Samples, typical
from bench.systems.base import System

RESULTS = Path(__file__).parent / "results"
BUSY = 0.5
"""Load for each core before the run, above which figures are not to be trusted."""


def table(measure: Measure, samples: Samples) -> Iterator[str]:
    """The lines of one measurement: the first figure with its range and ratios, then the others."""
    key, *others = measure.figures
    shown = [
        each
        for each in others
        if any(each.name in one for ones in samples.values() for one in ones)
    ]
    head = [
        "system",
        key.heading,
        "range",
        "× best peer",
        "× floor",
        *(each.heading for each in shown),
    ]
    lines = [head]
    for system, rounds in samples.items():
        if rounds:
            lines.append([system, *row(measure, samples, system, shown)])
    yield f"{measure.title} ({max(map(len, samples.values()), default=0)} rounds)"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        first, *rest = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        yield "  " + "  ".join([line[0].ljust(len(first)), *rest])
    for target in measure.targets:
        value = target.value(samples)
        if value is not None:
            verdict = "met" if target.met(value) else "MISSED"
            yield f"  target: {target.text}: {value:,.3g} {verdict}"


def row(measure: Measure, samples: Samples, system: str, shown: Sequence[Figure]) -> list[str]:
    """A system's cells after its name."""
    key = measure.figures[0]
    values = [sample[key.name] for sample in samples[system] if key.name in sample]
    peer = best_peer(measure, samples)
    cells = [number(median(values), key.digits)] if values else ["–"]
    cells.append(
        f"{number(min(values), key.digits)}–{number(max(values), key.digits)}" if values else ""
    )
    cells += [ratio(samples, system, other, key.name) for other in (peer, FLOOR)]
    for figure in shown:
        value = typical(samples, system, figure.name)
        cells.append("–" if value is None else number(value, figure.digits))
    return cells


def number(value: float, digits: int) -> str:
    """A figure for people."""
    return f"{value:,.{digits}f}"


def best_peer(measure: Measure, samples: Samples) -> str | None:
    """The peer with the best first figure; the floor is no peer."""
    key = measure.figures[0].name
    found = {
        system: value
        for system in samples
        if system not in (OURS, FLOOR) and (value := typical(samples, system, key)) is not None
    }
    if not found:
        return None
    return (min if measure.smaller_is_better else max)(found, key=lambda system: found[system])


def ratio(samples: Samples, system: str, other: str | None, figure: str) -> str:
    """How many times another's figure it is, by the median of the rounds' ratios."""
    pairs = zip(samples[system], samples.get(other or "", []), strict=False)
    found = [one[figure] / two[figure] for one, two in pairs if one.get(figure) and two.get(figure)]
    return f"{median(found):.2f}" if found else ""


def machine() -> dict[str, Any]:
    """Where it was measured."""
    return {
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "load_before": os.getloadavg()[0],
    }


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")


def busy(about: Mapping[str, Any]) -> bool:
    """Whether others were using the machine when the run began."""
    return bool(about["load_before"] > BUSY * (about["cores"] or 1))


def versions(systems: Sequence[System]) -> dict[str, dict[str, str]]:
    """The releases that were measured."""
    found: dict[str, dict[str, str]] = {}
    for system in systems:
        found[system.name] = {}
        for package in system.packages:
            try:
                found[system.name][package] = version(package)
            except PackageNotFoundError:
                found[system.name][package] = "?"
    return found


def save(
    about: Mapping[str, Any],
    postgres: str,
    size: str,
    systems: Sequence[System],
    results: Mapping[str, Samples],
) -> Path:
    """Write everything into a file of its own; returns where it is."""
    now = datetime.now(UTC)
    found = {
        "at": now.isoformat(timespec="seconds"),
        "machine": about,
        "busy": busy(about),
        "postgres": {"version": postgres, "settings": SETTINGS},
        "size": size,
        "systems": {system.name: system.settings for system in systems},
        "versions": versions(systems),
        "results": results,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%d-%H%M%S}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    return path
