"""Around everything that is served: whose name we go by, what protects, cookies that are set.

Plain ASGI, for it is passed by every request.
"""

from __future__ import annotations

from http.cookies import SimpleCookie

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from koken.web.access import origin
from koken.web.faults import problem_of
from koken.web.house import House
from koken.web.limits import OF_REQUEST, limited

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
PROTECTING = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
HTTPS_ONLY = {"strict-transport-security": "max-age=31536000"}
NOT_KEPT = (b"cache-control", b"no-store")
ASKED_BY_MACHINES = ("/health", "/ready", "/metrics")
"""What is asked under whatever name a machine is known by."""
STATIC = "/static/"
COOKIES = "koken.cookies"


class Porch:
    """Passes requests on, and adds to answers what every one of them has."""

    def __init__(self, app: ASGIApp, house: House) -> None:
        self.app = app
        self.house = house
        self.web = house.web
        self.always = raw(PROTECTING)
        self.always_secure = raw(PROTECTING | HTTPS_ONLY)
        self.untrusted = self.web.proxy_header.lower().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        path: str = scope["path"]
        secure = origin.is_secure(request, self.web)
        cookies: list[bytes] = []
        scope[COOKIES] = cookies

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *((b"set-cookie", it) for it in cookies)]
                given = {name.lower() for name, _ in headers}
                added = self.always_secure if secure else self.always
                headers.extend(each for each in added if each[0] not in given)
                if b"cache-control" not in given and not path.startswith(STATIC):
                    headers.append(NOT_KEPT)
                message = {**message, "headers": headers}
            await send(message)

        name = origin.name_of(request)
        if path not in ASKED_BY_MACHINES and not origin.answers_to(
            name, self.web, loopback=self.house.loopback
        ):
            await misdirected(request, name, self.web.url)(scope, receive, sent)
            return
        self.strip(scope, request)
        await self.app(scope, limited(receive, OF_REQUEST), sent)

    def strip(self, scope: Scope, request: HTTPConnection) -> None:
        """Take away what only a proxy that we trust may say."""
        if self.untrusted and not origin.in_networks(
            origin.peer_of(request), self.web.proxy_trusted
        ):
            scope["headers"] = [each for each in scope["headers"] if each[0] != self.untrusted]


def raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as they are sent."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def misdirected(request: HTTPConnection, name: str, base: str) -> Response:
    """The answer to who asks under a name that is not ours, which is in no address of ours."""
    detail = (
        "the Host header is to be one name or address, and a port where it needs one"
        if not name
        else f"Koken does not answer under the name {name!r}. If it should: "
        f'add it to koken.toml as [web] hosts = ["{name}"], or set url'
    )
    if request.scope["path"].startswith("/api/"):
        plain = problem_of("misdirected", detail, base=base, path=request.scope["path"])
        return JSONResponse(plain, 421, media_type="application/problem+json")
    return PlainTextResponse(detail + "\n", 421)


def set_cookie(
    scope: Scope,
    name: str,
    value: str,
    *,
    secure: bool,
    seconds: float | None = None,
    path: str = "/",
) -> None:
    """Have the answer set a cookie that no script can read; an empty value takes it away."""
    cookie: SimpleCookie = SimpleCookie()
    cookie[name] = value
    made = cookie[name]
    made["path"], made["httponly"], made["samesite"] = path, True, "Lax"
    if secure:
        made["secure"] = True
    if seconds is not None:
        made["max-age"] = int(seconds) if value else 0
    scope[COOKIES].append(made.OutputString().encode("latin-1", "ignore"))
