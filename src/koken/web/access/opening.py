"""Whether the doors may open as they are set: closed by default to everybody but this machine."""

from __future__ import annotations

from koken.model.web import Web
from koken.web.house import House

GIVE = "koken user add NAME --role admin"


async def closed(house: House) -> str | None:
    """Why the doors must not open, with what to do; None where they may."""
    problem = unfit(house.web)
    if problem:
        return problem
    if house.loopback or house.web.vouched or not await house.credentials.nobody():
        return None
    return (
        "nobody has credentials yet, and without any Koken listens on this machine alone. "
        f"Let somebody in with `{GIVE}`, or leave --host at 127.0.0.1"
    )


async def open_reason(house: House) -> str | None:
    """Why people come in without credentials; None where they do not."""
    if not house.loopback or house.web.vouched or not await house.credentials.nobody():
        return None
    return (
        "Nobody has credentials yet: whoever is on this machine may do everything, "
        f"and nobody else comes in. `{GIVE}` changes that."
    )


def unfit(web: Web) -> str | None:
    """What is wrong with settings of the doors that each are well."""
    if web.issuer and not web.client_id:
        return "web: issuer needs client_id, the name by which the issuer knows Koken"
    if web.proxy_header and not web.proxy_trusted:
        return "web: proxy_header needs proxy_trusted, the networks in which the proxy is"
    if web.vouched and not web.roles:
        return (
            "web: whom an issuer or a proxy vouches for may do nothing yet; "
            'say what with roles = {"*" = "viewer"}'
        )
    return None
