"""Hears hints: that something became ready, that a run is to be cancelled."""

from __future__ import annotations

from collections.abc import Callable

from koken.runtime.service import LONGEST_REST, Service
from koken.store.channel import Channel


class Listener(Service):
    """Keeps a listening connection; ``on_ready`` and ``on_cancel`` get the number in the hint.

    A new connection may have missed hints, so it is a hint itself: ``on_connected``.
    """

    name = "listener"

    def __init__(
        self,
        url: str,
        schema: str,
        *,
        on_ready: Callable[[int], None],
        on_cancel: Callable[[int], None],
        on_connected: Callable[[], None],
    ) -> None:
        super().__init__()
        self.channel = Channel(url, schema, self.hint)
        self.on_ready = on_ready
        self.on_cancel = on_cancel
        self.on_connected = on_connected
        self.connected = False

    async def turn(self) -> float:
        """Connect when there is no connection; see now and then that it lives."""
        if self.connected:
            try:
                await self.channel.check()
            except Exception:
                self.lost()
                raise
        else:
            self.channel.close()
            await self.channel.open(self.lost)
            self.connected = True
            self.on_connected()
        return LONGEST_REST

    def lost(self) -> None:
        """The connection has ended."""
        self.connected = False
        self.ring()

    def hint(self, text: str) -> None:
        """Act on a hint such as ``ready 7``."""
        kind, _, number = text.partition(" ")
        if number.isdigit():
            if kind == "ready":
                self.on_ready(int(number))
            elif kind == "cancel":
                self.on_cancel(int(number))

    async def stop(self) -> None:
        """Stop listening."""
        await super().stop()
        self.channel.close()
