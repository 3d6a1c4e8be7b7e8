"""Every error that Koken raises on purpose, as one tree.

    KokenError                    .code is stable; each maps to one HTTP status and one exit code
    ├── DeclarationError          a job, schedule or setting is wrong; when the program is read
    ├── InvalidArguments          arguments that do not fit the job, by argument
    ├── NotFound                  no such job, run, queue, worker
    ├── Conflict                  something stands in the way: what, who holds it, since when
    │   ├── KeyConflict           the same idempotency key with other arguments
    │   ├── InProgress            the same request is still being carried out
    │   ├── OutcomeUnknown        the same request changed something, and its answer is lost
    │   ├── Locked                a lock is held
    │   ├── Overlapping           overlap="refuse" and another run goes
    │   └── Refused               not legal in this state
    ├── RunEnded                  a run did not succeed: RunFailed, RunSkipped, RunCancelled
    ├── WorkflowChanged           steps under a run in flight were renamed or reordered
    ├── LeaseLost                 this attempt no longer owns its run
    ├── NotSignedIn               over HTTP: nobody knows who asks
    ├── Forbidden                 over HTTP: who asks may not do that
    ├── NotShown                  over HTTP: a value has a secret in it, and is not told whole
    ├── TooMany                   over HTTP: too often in a short time
    ├── ConsoleUnreachable        over HTTP: no answer from the console
    └── DatabaseUnreachable       no answer from PostgreSQL

A message says what happened, to which job or run, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from koken.model.run import Run


class KokenError(Exception):
    """The root: whatever Koken refuses or reports."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1


class DeclarationError(KokenError):
    """A job, schedule or setting is declared in a way that cannot work."""

    code = "declaration_error"
    exit_code = 2


class InvalidArguments(KokenError):
    """Arguments do not fit the job; nothing was started.

    ``problems`` maps each argument's path to what is wrong with it.
    """

    code = "invalid_arguments"
    status = 422
    exit_code = 2

    def __init__(self, message: str, problems: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.problems: dict[str, str] = dict(problems or {})


class NotFound(KokenError):
    """There is no such job, run, queue or worker."""

    code = "not_found"
    status = 404
    exit_code = 3


class Conflict(KokenError):
    """Something stands in the way.

    ``what`` is the thing, ``held_by`` the id of the run that holds it (if a run does),
    ``since`` the instant from which it does.
    """

    code = "conflict"
    status = 409
    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        what: str = "",
        held_by: int | None = None,
        since: datetime | None = None,
    ) -> None:
        super().__init__(message)
        self.what = what
        self.held_by = held_by
        self.since = since


class KeyConflict(Conflict):
    """The idempotency key belongs to a run with other arguments."""

    code = "key_conflict"


class InProgress(Conflict):
    """The same request, under the same idempotency key, is still being carried out.

    ``after`` is in how many seconds it is given up, if there is still no answer: then it may be
    carried out anew, if it has changed nothing.
    """

    code = "in_progress"

    def __init__(
        self,
        message: str,
        *,
        what: str = "",
        held_by: int | None = None,
        since: datetime | None = None,
        after: float = 0.0,
    ) -> None:
        super().__init__(message, what=what, held_by=held_by, since=since)
        self.after = after


class OutcomeUnknown(Conflict):
    """The same request, under the same idempotency key, has changed something.

    Its answer is lost with the process that carried it out. It is not carried out again: look what
    has become of it.
    """

    code = "outcome_unknown"


class Locked(Conflict):
    """A lock is held, and the caller did not want to wait."""

    code = "locked"


class Overlapping(Conflict):
    """Another run of the job (or of the key) still goes and the job refuses a second."""

    code = "overlapping"


class Refused(Conflict):
    """The change is not legal in this state."""

    code = "refused"


class RunEnded(KokenError):
    """A run ended without a result; ``run`` is its last snapshot."""

    code = "run_ended"
    status = 409

    def __init__(self, message: str, run: Run[Any]) -> None:
        super().__init__(message)
        self.run = run


class RunFailed(RunEnded):
    """The run failed."""

    code = "run_failed"


class RunSkipped(RunEnded):
    """The run was skipped."""

    code = "run_skipped"


class RunCancelled(RunEnded):
    """The run was cancelled."""

    code = "run_cancelled"


class WorkflowChanged(KokenError):
    """The steps under a run in flight were renamed or reordered."""

    code = "workflow_changed"
    status = 409
    exit_code = 4


class LeaseLost(KokenError):
    """This attempt no longer owns its run; nothing that it writes counts any more."""

    code = "lease_lost"
    status = 409
    exit_code = 4


class NotSignedIn(KokenError):
    """Nobody knows who asks: no credentials, or none that are good any more."""

    code = "not_signed_in"
    status = 401
    exit_code = 2


class Forbidden(KokenError):
    """Who asks is known, and may not do that."""

    code = "forbidden"
    status = 403
    exit_code = 2


class NotShown(KokenError):
    """A value has secrets in it, which are told to nobody over HTTP; ``places`` are where."""

    code = "not_shown"
    status = 403
    exit_code = 2

    def __init__(self, message: str, places: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.places = tuple(places)


class TooMany(KokenError):
    """Asked too often; ``after`` is how many seconds to wait before the next try."""

    code = "too_many"
    status = 429
    exit_code = 4

    def __init__(self, message: str, *, after: float) -> None:
        super().__init__(message)
        self.after = after


class ConsoleUnreachable(KokenError):
    """The console at an address does not answer."""

    code = "console_unreachable"
    status = 503
    exit_code = 5


class DatabaseUnreachable(KokenError):
    """PostgreSQL does not answer."""

    code = "database_unreachable"
    status = 503
    exit_code = 5
