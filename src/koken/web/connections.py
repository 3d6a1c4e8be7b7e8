"""Connections on which somebody asks: how much is read before anybody is known, and how long."""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 64 * 1024
"""Bytes of a request's first line and headers."""
PATIENCE = 20.0
"""Seconds in which a request's headers come, and within which its body goes on."""
LEAST = 16 * 1024
"""Bytes of a body that come in that time, where it has not ended."""


class Connection(HttpToolsProtocol):
    """Closes on who sends too much before its body, or too slowly. What is idle is uvicorn's."""

    coming = False
    """Whether a request has begun to come and has not come to its end."""
    headed = False
    """Whether its headers are there."""
    asked = False
    """Whether any request's were."""
    refused: HTTPStatus | None = None
    """The status with which we close."""
    unread = 0
    """Bytes that have come of its headers while they were not all there."""
    head = 0
    """Bytes of those that were read."""
    body_read = 0
    """Bytes of its body since we last looked."""
    looks: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there; what they ask should follow."""
        super().connection_made(transport)
        self.look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self.look_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, and no further than headers may go."""
        super().data_received(data)
        if self.coming and not self.headed and self.refused is None:
            self.unread += len(data)
            if self.unread > LARGEST_HEAD:
                self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif not self.coming and self.looks is None and self.answered:
            self.look_later()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self.coming, self.headed = True, False
        self.unread = self.head = self.body_read = 0
        self.look_later()

    def on_url(self, url: bytes) -> None:
        """A part of its address."""
        super().on_url(url)
        self.weigh(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers, or what follows a body in parts."""
        self.weigh(len(name) + len(value) + 4)
        super().on_header(name, value)

    def weigh(self, size: int) -> None:
        """Count what stands before a body, when it is read at once. Raises ``ValueError``."""
        self.head += size
        if self.head > LARGEST_HEAD:
            self.refused = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise ValueError("the headers are too large")

    def on_headers_complete(self) -> None:
        """All its headers are there; it is answered from here on."""
        super().on_headers_complete()
        self.asked = self.headed = True
        self.head = 0

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        self.body_read += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self.coming = False
        self.look_no_more()
        super().on_message_complete()

    @property
    def answered(self) -> bool:
        """Whether nothing is being answered."""
        return not self.asked or self.cycle.response_complete

    def look_later(self) -> None:
        """See in a while whether it has come any further."""
        self.look_no_more()
        self.looks = self.loop.call_later(PATIENCE, self.look)

    def look_no_more(self) -> None:
        """What was awaited is there, or nobody is."""
        if self.looks is not None:
            self.looks.cancel()
            self.looks = None

    def look(self) -> None:
        """Close where too little has come; but not where it is we who have not read on."""
        self.looks = None
        if self.coming and self.headed and (self.flow.read_paused or self.body_read >= LEAST):
            self.body_read = 0
            self.look_later()
        elif self.coming:
            self.refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or more of it than is read."""
        if self.refused is not None:
            self.refuse(self.refused)
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def refuse(self, status: HTTPStatus) -> None:
        """Close, with an answer where none has begun."""
        self.refused = status
        if self.transport.is_closing():
            return
        if self.answered or not self.cycle.response_started:
            told = f"{status.phrase}\n".encode()
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: text/plain; charset=utf-8\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n%s"
                % (status, status.phrase.encode(), len(told), told)
            )
        self.transport.close()

    def shutdown(self) -> None:
        """The doors close: what has not come by now is waited for no more."""
        if self.coming:
            self.transport.close()
        super().shutdown()
