"""How long a worker may be silent, and what follows when it is: all lengths in seconds.

The inequalities below keep two workers from carrying one run: a worker's own count, which starts
when it *sends* a beat, always runs out before the database's, which starts when the beat arrives.
"""

from __future__ import annotations

from dataclasses import dataclass

from koken.errors import DeclarationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The constants of leases. ``takeover`` is what they add up to."""

    beat: float = 5.0
    """Between two beats of a worker's heart."""
    beat_deadline: float = 3.0
    """For one beat, connecting included; then its connection is abandoned."""
    stop_after: float = 40.0
    """Since the last confirmed beat was sent: claim no more, stop bodies that may not run twice."""
    kill_after: float = 50.0
    """Since then: kill what is left."""
    lease: float = 60.0
    """Since the last beat arrived, on the database's clock: the worker is suspect."""
    confirm: float = 9.0
    """Between suspect and lost."""
    sweep: float = 2.0
    """Between two looks of an idle worker at what is due."""

    def __post_init__(self) -> None:
        for holds, rule in (
            (
                self.stop_after >= 3 * self.beat + self.beat_deadline,
                "stop_after ≥ 3 × beat + beat_deadline",
            ),
            (self.kill_after >= self.stop_after + 5, "kill_after ≥ stop_after + 5 s"),
            (
                self.kill_after + 0.01 * self.lease + 1 <= self.lease,
                "kill_after + 1 % of lease + 1 s ≤ lease",
            ),
            (
                self.confirm >= self.beat + self.beat_deadline + 1,
                "confirm ≥ beat + beat_deadline + 1 s",
            ),
        ):
            if not holds:
                raise DeclarationError(f"timing breaks the rule {rule}: {self}")

    @property
    def takeover(self) -> float:
        """The longest time from a worker's death until another may carry its runs."""
        return self.lease + self.confirm + 2 * self.sweep


DEFAULT = Timing()
FAST = Timing(beat=3, beat_deadline=2, stop_after=11, kill_after=16, lease=20, confirm=6, sweep=1)
"""For development and short jobs: takeover within 28 s."""

PROFILES = {"default": DEFAULT, "fast": FAST}
