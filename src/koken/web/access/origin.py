"""Where a request comes from: under which name we were asked, from which address, by whose page."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from koken.model.web import Web

FORWARDED = re.compile(
    r"forwarded|via|x-(original-)?forwarded.*|x-(real|client|cluster-client)-ip|true-client-ip|cf-.*"
)
"""What a proxy adds, with ``-`` for ``_``; then it is not this machine that asks."""
HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?", re.IGNORECASE)
"""A Host header: a name or an address, and a port; whatever else stands there is none."""
KNOWN = 200
"""Names that are remembered, for most requests come under the same."""


@lru_cache(maxsize=KNOWN)
def host_name(host: str) -> str:
    """The name in a Host header, without the port: ``[::1]:7070`` is ``::1``.

    Empty where it is more or less than a name and a port, so that nobody can read it otherwise.
    """
    found = HOST.fullmatch(host)
    if found is None or (found[1] and not is_address(found[1])):
        return ""
    return (found[1] or found[2]).lower().rstrip(".")


def name_of(request: HTTPConnection) -> str:
    """The name under which we are asked; empty where none is said, or several are."""
    hosts = request.headers.getlist("host")
    return host_name(hosts[0]) if len(hosts) == 1 else ""


@lru_cache(maxsize=KNOWN)
def is_address(name: str) -> bool:
    """Whether a name is an address itself; no foreign page can have us under one."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=KNOWN)
def is_loopback(name: str) -> bool:
    """Whether a name or address is this machine's own."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return is_address(name) and ip_address(name).is_loopback


def answers_to(name: str, web: Web, *, loopback: bool) -> bool:
    """Whether we are asked under a name that is ours, so that no foreign page can pose as us.

    Names of this machine, addresses, the host of ``url``, and ``hosts``. Where neither ``url`` nor
    ``hosts`` says anything and others than this machine may ask, any name: there nobody comes in
    without credentials, and a browser keeps those for the name under which it got them.
    """
    if not name:
        return False
    if is_loopback(name) or is_address(name):
        return True
    own = {each.lower() for each in web.hosts} | ({host_of(web.url)} if web.url else set())
    return name in own or (not own and not loopback)


def host_of(url: str) -> str:
    """The host of an address."""
    return urlsplit(url).hostname or ""


def in_networks(address: str, networks: tuple[str, ...]) -> bool:
    """Whether an address is in one of these networks."""
    if not networks or not is_address(address):
        return False
    found = ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None) or found
    return any(mapped in ip_network(each) for each in networks)


def peer_of(request: HTTPConnection) -> str:
    """The address at the other end of the connection."""
    return request.client.host if request.client else ""


def client_of(request: HTTPConnection, web: Web) -> str:
    """The address that asks: behind our own proxies, what the last of them says of it."""
    found = peer_of(request)
    before = [
        each.strip()
        for line in request.headers.getlist("x-forwarded-for")
        for each in line.split(",")
    ]
    while before and in_networks(found, web.proxy_trusted) and is_address(before[-1]):
        found = before.pop()
    return found


def is_secure(request: HTTPConnection, web: Web) -> bool:
    """Whether people reach us by https, here or at a proxy before us."""
    return request.scope["scheme"] == "https" or web.url.startswith("https://")


def is_ours(request: HTTPConnection, web: Web) -> bool:
    """Whether no page of another site sent this. What is no browser says nothing of either."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return True
    scheme = "https" if is_secure(request, web) else "http"
    own = (f"{scheme}://{request.headers.get('host', '')}".lower(), web.url.lower())
    return bool(origin) and origin.lower() in own


def is_local(request: HTTPConnection) -> bool:
    """Whether somebody on this machine asks, under one of its own names, and by no proxy."""
    return (
        is_loopback(peer_of(request))
        and is_loopback(name_of(request))
        and not any(FORWARDED.fullmatch(each.replace("_", "-")) for each in request.headers)
    )


def safe_path(path: str) -> str:
    """A path on this site to go on to; anything that a browser could read otherwise is ``/``."""
    plain = path.isascii() and path.isprintable() and "\\" not in path
    if plain and path.startswith("/") and not path.startswith("//"):
        return path
    return "/"
