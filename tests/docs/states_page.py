"""``docs/concepts/states.md``, printed from the table of states.

    python -m tests.docs.states_page

writes it anew. The table, the births and the waits come from ``model/states.py``. The drawing is by
hand; ``ARROWS`` says what each of its arrows stands for, and all of them together are the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from koken.model.states import BORN, LIVE, MOVES, State, WaitCause

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "states.md"

DRAWING = """
┌─ live ──────────────────────────────────┐            ┌─ ended ─────────┐
│                  ┌───────────────┐      │            │                 │
│                  ▼               │      │            │                 │
│  ◌ blocked ──► ○ ready ──► ● running ───┼────────────┼─► ✓ succeeded   │
│     │   │         ▲          ▲   │      │            │       ▲         │
│     │   └─────────┼──────────┘   │      │            │       │ resolve │
│     │             │              │      ├─ resolve ──┼───────┤         │
│     └──────► ◔ waiting ◄─────────┘      ├── each ────┼─► ✗ failed      │
│                                         │            │       │ skip    │
│                                         │            │       ▼         │
│                                         ├── each ────┼─► – skipped     │
│                                         │            │                 │
│                                         ├── each ────┼─► ⊘ cancelled   │
│                                         │            │                 │
│       ○ ready, ◌ blocked ◄── retry ─────┼────────────┤ but succeeded   │
│                  ◌ blocked ◄── again ───┼────────────┤ succeeded       │
└─────────────────────────────────────────┘            └─────────────────┘
"""

S = State
ARROWS: dict[str, set[tuple[State, State]]] = {
    "blocked to ready": {(S.BLOCKED, S.READY)},
    "blocked to running": {(S.BLOCKED, S.RUNNING)},
    "blocked to waiting": {(S.BLOCKED, S.WAITING)},
    "ready to running": {(S.READY, S.RUNNING)},
    "running to ready": {(S.RUNNING, S.READY)},
    "running to waiting": {(S.RUNNING, S.WAITING)},
    "waiting to ready": {(S.WAITING, S.READY)},
    "running to succeeded": {(S.RUNNING, S.SUCCEEDED)},
    "each to failed": {(state, S.FAILED) for state in LIVE},
    "each to skipped": {(state, S.SKIPPED) for state in LIVE},
    "each to cancelled": {(state, S.CANCELLED) for state in LIVE},
    "resolve": {
        (source, S.SUCCEEDED)
        for source in (S.BLOCKED, S.READY, S.WAITING, S.FAILED, S.SKIPPED, S.CANCELLED)
    },
    "again": {(S.SUCCEEDED, S.BLOCKED)},
    "skip": {(S.FAILED, S.SKIPPED)},
    "retry": {
        (source, target)
        for source in (S.FAILED, S.SKIPPED, S.CANCELLED)
        for target in (S.READY, S.BLOCKED)
    },
}
"""The drawing's arrows, and the moves that each stands for."""

MEANING = {
    State.BLOCKED: "It is not begun: it needs other steps, or wants a lock that others hold.",
    State.READY: "It may be taken by any worker that serves its queue.",
    State.RUNNING: "One worker holds it, and carries out its body.",
    State.WAITING: "For a time, or for something to happen; see below.",
    State.SUCCEEDED: "The body returned a result.",
    State.FAILED: "No attempt is left, or none is wanted. A person may mend it.",
    State.SKIPPED: "Its overlap rule, its lock, or the body itself said: not this time.",
    State.CANCELLED: "A person, a newer run or the body ended it.",
}
WAITS = {
    WaitCause.DELAY: "until the time at which it was to start, or as long as it snoozes",
    WaitCause.RETRY: "for its next attempt",
    WaitCause.SLEEP: "as long as the body sleeps",
    WaitCause.SIGNAL: "for a message from outside",
    WaitCause.QUESTION: "for a person's answer",
    WaitCause.OPERATION: "for work elsewhere",
    WaitCause.CHILDREN: "for its steps, its items or the runs that it started",
    WaitCause.GATE: "as a step, until its gate or its window opens",
}

TEXT = """# States

<!-- Printed from src/koken/model/states.py by `python -m tests.docs.states_page`. -->

A run is in one of eight states. Four are live, four are ended; an ended run moves only when a
person mends it.

```
{drawing}
```

An arrow from the frame, marked *each*, starts at every state in it.

| | state | means | may go to |
|---|---|---|---|
{states}

A run begins as {born}.
It is *blocked* at first when it needs other steps or wants a lock, *waiting* when its time is
still to come, *skipped* when its overlap rule says so, and *succeeded* or *skipped* when a fork
takes it over as it had ended.

## Waits

A waiting run says what it waits for, and until when if that is known.

| cause | it waits |
|---|---|
{waits}

A wait between two attempts is shown as `↻`. A run whose cancel was asked for, but is not confirmed
by its worker yet, is shown as *cancelling*.

## Who moves a run

| move | by |
|---|---|
| *ready* → *running* | a worker that claims it; its lease grows by one |
| *running* → any | the worker that holds it, by the body's answer; after a loss, who rescues it |
| *waiting* → *ready* | the time, by whichever worker looks first |
| *blocked* → *ready*, *waiting*, *skipped* | the last of its needs that ends; a lock's holder |
| a live state → *cancelled* | a person, or a newer start; one that runs is asked first |
| a live state → *failed* | also its `start_timeout` and `run_timeout` |
| *failed*, *skipped*, *cancelled* → *ready*, *blocked* | a person's `retry` |
| what has not succeeded → *succeeded*, *skipped* | a person's `resolve` and `skip`, of a step |
| *succeeded* → *blocked* | a person's `retry --from` an earlier step: it must run again |

Every statement that writes a state names the states it may start from, and a trigger in the
database refuses every move that the table above does not have.
"""


def rendered() -> str:
    """The page."""
    return TEXT.format(
        drawing=DRAWING.strip("\n"),
        states="\n".join(row(state) for state in State),
        born=listed((state for state in State if state in BORN), "or"),
        waits="\n".join(f"| {cause} | {WAITS[cause]} |" for cause in WaitCause),
    )


def row(state: State) -> str:
    """A state's line in the table."""
    targets = [target for target in State if target in MOVES[state]]
    return f"| {state.glyph} | **{state}** | {MEANING[state]} | {', '.join(targets) or '–'} |"


def listed(states: Iterable[State], last: str) -> str:
    """Some states as words: *a*, *b* or *c*."""
    *front, end = (f"*{state}*" for state in states)
    return f"{', '.join(front)} {last} {end}"


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
