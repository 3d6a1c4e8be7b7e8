"""What a body may answer beside its result: raised, or returned.

They are ``BaseException``s, so that an ``except Exception`` in a body cannot swallow them.
"""

from __future__ import annotations

from koken.model.duration import Duration, seconds


class Outcome(BaseException):
    """An answer of a body that is not a result. ``reason`` is for people."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = str(reason)

    def __reduce__(self) -> tuple[type[Outcome], tuple[object, ...]]:
        return type(self), (self.reason,)


class Retry(Outcome):
    """Try again later: spends an attempt, and fails when none is left.

    ``after`` is the wait, in seconds or as text; without it the job's backoff decides.
    """

    def __init__(self, reason: str = "", *, after: Duration | None = None) -> None:
        super().__init__(reason)
        self.after = None if after is None else seconds(after, name="after")

    def __reduce__(self) -> tuple[type[Outcome], tuple[object, ...]]:
        return revive_retry, (self.reason, self.after)  # type: ignore[return-value]  # pickle calls it


class Snooze(Outcome):
    """Not yet: come back ``after`` that long, without spending an attempt."""

    def __init__(self, after: Duration | None = None, reason: str = "") -> None:
        super().__init__(reason)
        self.after = None if after is None else seconds(after, name="after")

    def __reduce__(self) -> tuple[type[Outcome], tuple[object, ...]]:
        return type(self), (self.after, self.reason)


class Skip(Outcome):
    """There is nothing to do: the run ends skipped."""


class Fail(Outcome):
    """Give up at once, whatever attempts are left."""


class Cancel(Outcome):
    """End as cancelled."""


def revive_retry(reason: str, after: float | None) -> Retry:
    """A ``Retry`` as it was before it was pickled."""
    return Retry(reason, after=after)
