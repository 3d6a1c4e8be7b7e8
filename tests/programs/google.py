"""A stand-in for the advertiser's API: drafts, and operations that take their time."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Operation:
    """Something that is under way there."""

    resource: str
    key: str
    error: str = ""
    done: bool = False
    cancelled: bool = False


@dataclass
class Google:
    """What stands there, and what was asked of it."""

    busy: int = 0
    """Looks at operations, of whichever, that find them in flight."""
    lost_answers: int = 0
    """Answers to submits that get lost: the work goes on, and nobody hears of it."""
    errors: dict[str, str] = field(default_factory=dict)
    """Resources whose operation ends with an error."""
    drafts: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    operations: dict[str, Operation] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    async def find_or_create(self, name: str) -> str:
        """A draft of that name."""
        self.calls.append("create")
        if name not in self.drafts:
            self.drafts.append(name)
        return name

    async def find_or_create_arms(self, draft: str) -> None:
        """The arms of a draft."""
        self.calls.append("arms")

    async def last_operation(self, resource: str) -> str | None:
        """The handle of the last operation on a resource."""
        self.calls.append("find")
        found = [
            handle
            for handle, each in self.operations.items()
            if each.resource == resource and not each.cancelled
        ]
        return found[-1] if found else None

    async def schedule(self, resource: str, key: str) -> str:
        """Begin to make a draft live."""
        self.calls.append("submit")
        self.keys.append(key)
        handle = f"operation-{len(self.operations) + 1}"
        error = self.errors.get(resource, "")
        self.operations[handle] = Operation(resource, key, error)
        if self.lost_answers:
            self.lost_answers -= 1
            raise ConnectionError("the answer was lost")
        return handle

    async def operation(self, handle: str) -> Operation:
        """How an operation goes."""
        self.calls.append("poll")
        found = self.operations[handle]
        if self.busy:
            self.busy -= 1
            return found
        found.done = True
        if not found.error and found.resource not in self.live:
            self.live.append(found.resource)
        return found

    async def cancel(self, handle: str) -> None:
        """Give an operation up."""
        self.calls.append("cancel")
        self.operations[handle].cancelled = True

    async def end(self, resource: str) -> None:
        """End what there is of a draft, live or not."""
        self.calls.append("end")
        for there in (self.drafts, self.live):
            if resource in there:
                there.remove(resource)


google = Google()
