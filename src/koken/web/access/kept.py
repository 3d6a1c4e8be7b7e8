"""What was looked up a moment ago, so that it is not looked up for every request."""

from __future__ import annotations

import time
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Kept(Generic[K, V]):
    """At most ``most`` answers, each for so many seconds; the oldest make room for new ones."""

    def __init__(self, seconds: float, most: int) -> None:
        self.seconds = seconds
        self.most = most
        self.answers: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        """The answer, while it is fresh."""
        until, value = self.answers.get(key, (0.0, None))
        return value if until > time.monotonic() else None

    def put(self, key: K, value: V) -> V:
        """Keep an answer."""
        self.answers.pop(key, None)
        while len(self.answers) >= self.most:
            del self.answers[next(iter(self.answers))]
        self.answers[key] = (time.monotonic() + self.seconds, value)
        return value

    def clear(self) -> None:
        """Forget all of it."""
        self.answers.clear()
