"""The airline of the demo: delivers a file a day, and one of them in two halves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from examples.flights.report import DATA, days_in, file_of


@dataclass(slots=True)
class Deliveries:
    """Real files, put into ``inbox`` one after the other."""

    inbox: Path
    days: list[date] = field(default_factory=lambda: sorted(days_in(DATA, ".csv.gz")))
    delivered: int = 0
    cut: date | None = None
    """The day of which only a part is there."""

    def begin(self) -> None:
        """An empty inbox, then the first day, and the second in half."""
        self.inbox.mkdir(parents=True, exist_ok=True)
        for file in self.inbox.iterdir():
            file.unlink()
        self.next()
        self.next(share=0.5)

    def files(self) -> list[str]:
        """The names of the files that are there, oldest first."""
        return sorted(file.name for file in self.inbox.glob("*.csv.gz"))

    def next(self, share: float = 1.0) -> None:
        """Deliver the next day, or the first part of its file; nothing after the last."""
        if self.delivered < len(self.days):
            day = self.days[self.delivered]
            self.put(day, share)
            self.delivered += 1
            self.cut = day if share < 1 else self.cut

    def mend(self) -> str:
        """Deliver the rest of what was cut; gives the file's name."""
        assert self.cut is not None
        day, self.cut = self.cut, None
        self.put(day)
        return file_of(self.inbox, day).name

    def put(self, day: date, share: float = 1.0) -> None:
        """The file, or its first part, in one move."""
        whole = file_of(DATA, day).read_bytes()
        fresh = self.inbox / f".{day}"
        fresh.write_bytes(whole[: int(len(whole) * share)])
        fresh.rename(file_of(self.inbox, day))
