"""A day of flights: read as delivered, checked row by row, counted.

Knows nothing of jobs: plain functions that can be called and tested alone.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import fmean

from pydantic import BaseModel, Field, ValidationError

DATA = Path(__file__).parent / "data"
LATE = 15
VERY_LATE = 60
"""Minutes after the planned arrival."""

WORDS = {
    "dep_time": "no departure time",
    "arr_time": "no arrival time",
    "arr_delay": "no arrival delay",
}
KINDS = ("on time", "late", "very late", "bad row")
"""What can become of a flight, in the order in which the picture stacks them."""


class Flight(BaseModel):
    """A row that can be counted: the flight left and arrived."""

    carrier: str = Field(pattern=r"^[A-Z0-9]{2}$")
    origin: str = Field(pattern=r"^[A-Z]{3}$")
    dest: str = Field(pattern=r"^[A-Z]{3}$")
    hour: int = Field(ge=0, le=23)
    """The hour of the planned departure."""
    dep_time: int = Field(ge=1, le=2400)
    arr_time: int = Field(ge=1, le=2400)
    arr_delay: int
    """Minutes; negative when it came early."""

    @property
    def kind(self) -> str:
        """On time, late or very late."""
        if self.arr_delay > VERY_LATE:
            return "very late"
        return "late" if self.arr_delay > LATE else "on time"


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be counted, and why."""

    row: Mapping[str, str]
    reason: str


@dataclass(slots=True)
class Airline:
    """What became of an airline's flights."""

    delays: list[int] = field(default_factory=list)
    late: int = 0
    bad: int = 0

    @property
    def mean_delay(self) -> float:
        """Minutes; 0 when none of its flights arrived."""
        return fmean(self.delays) if self.delays else 0.0


@dataclass(slots=True)
class Day:
    """A day's flights, counted one by one."""

    day: date
    flights: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why rows were bad, and how often."""
    hours: dict[int, Counter[str]] = field(default_factory=dict)
    """By hour of the planned departure: how many flights of each kind."""
    airlines: dict[str, Airline] = field(default_factory=dict)

    @property
    def bad_rows(self) -> int:
        """Rows that could not be counted."""
        return self.reasons.total()

    @property
    def mean_delay(self) -> float:
        """Minutes by which the flights that arrived were late."""
        delays = [delay for airline in self.airlines.values() for delay in airline.delays]
        return fmean(delays) if delays else 0.0

    def count(self, flight: Flight) -> None:
        """Take in a flight."""
        self.flights += 1
        self.hour(flight.hour)[flight.kind] += 1
        airline = self.airlines.setdefault(flight.carrier, Airline())
        airline.delays.append(flight.arr_delay)
        airline.late += flight.arr_delay > LATE

    def count_bad(self, bad: BadRow) -> None:
        """Take in a row that is no flight; it still tells when and whose it was to be."""
        self.reasons[bad.reason] += 1
        if bad.row.get("hour", "").isdigit():
            self.hour(int(bad.row["hour"]))["bad row"] += 1
        self.airlines.setdefault(bad.row.get("carrier", "?"), Airline()).bad += 1

    def hour(self, hour: int) -> Counter[str]:
        """The counts of an hour."""
        return self.hours.setdefault(hour, Counter())


def file_of(inbox: Path, day: date) -> Path:
    """Where the file of a day is, or will be."""
    return inbox / f"{day}.csv.gz"


def read(file: Path) -> list[dict[str, str]]:
    """The rows of a file. Raises ``EOFError`` when it is not all there yet."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def check(row: Mapping[str, str]) -> Flight | BadRow:
    """The row as a flight, or why it is none."""
    try:
        return Flight.model_validate(row)
    except ValidationError as error:
        return BadRow(row, reason(error))


def reason(error: ValidationError) -> str:
    """The first thing that is wrong with a row, in words."""
    first = error.errors(include_url=False)[0]
    column = str(first["loc"][0])
    if first["input"] == "NA" and column in WORDS:
        return WORDS[column]
    return f"{column} is {first['input']!r}"


def days_in(folder: Path, ending: str) -> set[date]:
    """The days of which a folder has a file with that ending."""
    names = (file.name.removesuffix(ending) for file in folder.glob(f"????-??-??{ending}"))
    return {date.fromisoformat(name) for name in names}


def oldest(days: Iterable[date]) -> date | None:
    """The first of some days."""
    return min(days, default=None)


def airline_names() -> dict[str, str]:
    """The airlines' names by their two letters."""
    with (DATA / "airlines.csv").open(encoding="utf-8", newline="") as lines:
        return {row["carrier"]: row["name"] for row in csv.DictReader(lines)}
