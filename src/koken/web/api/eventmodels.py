"""What goes out about what people did, for the description of the API."""

from __future__ import annotations

from koken.web.api.models import ActShown


class EventShown(ActShown):
    """One thing that somebody did, and what it was about."""

    workspace: str
    job: str | None
    run: str | None
