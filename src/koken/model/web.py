"""Settings of the doors: where the console listens, and who is let in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from typing import Any

from koken.model.duration import seconds
from koken.model.rights import EVERYWHERE, HOUSE, ROLES, Role

BODY_LIMIT = 1024 * 1024
"""Bytes of a body that the API takes."""
ANYBODY = "*"
"""Among ``roles``: everybody who is vouched for."""
MASKED = (
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "secret",
    "secrets",
    "token",
    "api_key",
    "api_keys",
    "access_key",
    "authorization",
    "credential",
    "credentials",
    "private_key",
    "private_keys",
)
"""By these words the names of secrets are told; ``tokens`` are what is counted."""
Roles = Mapping[str, Mapping[str, str]]
"""A claim's value or a name → workspace → role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """Settings of the console and the API."""

    host: str = "127.0.0.1"
    port: int = 7070
    url: str = ""
    """The address that people use; links and sign-in elsewhere lead there."""
    hosts: tuple[str, ...] = ()
    """Host names under which it is asked for, beside that of ``url`` and of this machine."""
    session: float = 12 * 3600.0
    """Seconds after which somebody who was signed in signs in again."""
    proxy_header: str = ""
    """The header in which a proxy says who asks."""
    proxy_trusted: tuple[str, ...] = ()
    """The networks in which that proxy is."""
    issuer: str = ""
    """OpenID Connect: the address of who vouches for people."""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = "openid profile email"
    """What the issuer is asked for; some want a word more to tell the groups of people."""
    claim: str = "groups"
    """Which claim says what somebody may do; ``roles`` reads it."""
    roles: Roles = field(default_factory=dict)
    """For people whom a proxy or an issuer vouches for: group or name → workspace → role."""
    mask: tuple[str, ...] = MASKED
    """Words in the names of arguments whose values are never shown."""

    @property
    def vouched(self) -> bool:
        """Whether somebody else vouches for people: an issuer, or a proxy."""
        return bool(self.issuer or (self.proxy_header and self.proxy_trusted))

    def roles_for(self, names: Iterable[str]) -> dict[str, str]:
        """Workspace → role of somebody of these names or groups; the highest wins."""
        found: dict[str, str] = {}
        for name in (ANYBODY, *names):
            for workspace, role in self.roles.get(name, {}).items():
                found[workspace] = max(found.get(workspace, role), role, key=rank)
        return found


def rank(role: str) -> int:
    """How much a role allows, beside the others."""
    return ROLES.index(Role(role))


def read_web(value: Any, web: Web) -> Web:
    """What ``[web]`` says, over ``web``. Raises ``ValueError``."""
    if not isinstance(value, Mapping):
        raise ValueError("write it as [web] with host, port and url")
    changes: dict[str, Any] = {}
    for key, item in value.items():
        reader = READERS.get(key)
        if reader is None:
            raise ValueError(f"web has no {key!r}; it has {', '.join(READERS)}")
        changes[key] = reader(item, key)
    return replace(web, **changes)


def text(value: Any, key: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"web: {key} is {value!r}, which is no text")
    return value


def address(value: Any, key: str) -> str:
    """An address of the web, without a slash at its end."""
    found = text(value, key).rstrip("/")
    if found and not found.startswith(("http://", "https://")):
        raise ValueError(f"web: {key} is {value!r}; it begins with https:// or http://")
    return found


def port(value: Any, key: str) -> int:
    """The number of a port; 0 is any that is free."""
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 65536:
        raise ValueError(f"web: {key} is {value!r}; ports count from 0 to 65535")
    return number


def length(value: Any, key: str) -> float:
    """A length of time that is more than none."""
    found = seconds(value, name=key)
    if not found:
        raise ValueError(f"web: {key} is {value!r}; it is a length of time, such as 12h")
    return found


def texts(value: Any, key: str) -> tuple[str, ...]:
    """Several texts: a list, or one text with blanks between them."""
    found = value.split() if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"web: {key} is {value!r}; write it as a list of texts")
    return tuple(found)


def networks(value: Any, key: str) -> tuple[str, ...]:
    """Networks such as ``10.0.0.0/8``, or single addresses."""
    found = texts(value, key)
    for each in found:
        try:
            ip_network(each)
        except ValueError as error:
            raise ValueError(f"web: {key}: {error}") from None
    return found


def roles(value: Any, key: str) -> Roles:
    """``{ops = "operator", lead = {acme = "admin"}}``."""
    if not isinstance(value, Mapping):
        raise ValueError(f"web: {key}: write it as {{ops = 'operator'}}")
    found: dict[str, dict[str, str]] = {}
    for group, given in value.items():
        places = given if isinstance(given, Mapping) else {EVERYWHERE: given}
        if HOUSE in places:
            raise ValueError(f"web: {key}: {HOUSE} is no workspace that one may choose")
        for role in places.values():
            if role not in ROLES:
                raise ValueError(f"web: {key}: {role!r} is no role; there are {', '.join(ROLES)}")
        found[group] = dict(places)
    return found


READERS: dict[str, Callable[[Any, str], Any]] = {
    "host": text,
    "port": port,
    "url": address,
    "hosts": texts,
    "session": length,
    "proxy_header": text,
    "proxy_trusted": networks,
    "issuer": address,
    "client_id": text,
    "client_secret": text,
    "scope": text,
    "claim": text,
    "roles": roles,
    "mask": texts,
}
