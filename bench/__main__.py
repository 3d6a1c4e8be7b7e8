"""``python -m bench``: measure Koken, the floor and the installed peers in one interleaved run."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence

from bench import report, runner
from bench.lab import Lab
from bench.measures.every import EVERY, chosen
from bench.plan import Measure, Samples
from bench.sizes import SIZES
from bench.systems import known
from bench.systems.base import System


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = ", ".join(measure.name for measure in EVERY)
    parser.add_argument("--only", default="", help=f"of these, separated by commas: {names}")
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement (3)")
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    parser.add_argument("--systems", default="", help=f"of these: {', '.join(known.NAMES)}")
    asked = parser.parse_args(given)
    asked.only, asked.systems = listed(asked.only), listed(asked.systems)
    unknown = {*asked.only} - {measure.name for measure in EVERY} | {*asked.systems} - {
        *known.NAMES
    }
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    return asked


def listed(text: str) -> tuple[str, ...]:
    """Words separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def tell(line: str) -> None:
    """Show a line of progress; on a terminal the next one takes its place."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)


async def run(
    asked: argparse.Namespace, systems: Sequence[System], measures: Sequence[Measure]
) -> None:
    """Measure, show and save."""
    about = report.machine()
    results: dict[str, Samples] = {}
    began = time.monotonic()
    async with Lab(SIZES[asked.size]) as lab:
        for measure in measures:
            results[measure.name] = await runner.measure(lab, measure, systems, asked.rounds, tell)
            tell("")
            print("\n".join(report.table(measure, results[measure.name])), end="\n\n", flush=True)
        postgres = lab.server.version
    path = report.save(about, postgres, asked.size, systems, results)
    minutes = (time.monotonic() - began) / 60
    print(f"PostgreSQL {postgres}, {about['cores']} cores, {minutes:.1f} minutes. All in {path}")
    if report.busy(about):
        print(f"Others used this machine (load {about['load_before']:.1f}): trust ratios only.")


def main() -> None:
    """The command."""
    asked = arguments()
    systems, missing = known.installed(asked.systems or known.NAMES)
    if missing:
        print(f"Not installed, not measured: {', '.join(missing)}", file=sys.stderr)
    if not systems:
        sys.exit("No system to measure.")
    try:
        asyncio.run(run(asked, systems, chosen(asked.only)))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
