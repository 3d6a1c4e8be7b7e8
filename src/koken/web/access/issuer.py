"""OpenID Connect: people whom somebody else vouches for, by authorization code with PKCE."""

from __future__ import annotations

import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import jwt
from jwt import PyJWKSet

from koken.errors import Forbidden, KokenError
from koken.model.names import fault
from koken.model.web import Web
from koken.web.access.origin import host_of, is_loopback

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
"""Signatures that only the issuer can make; never such as anybody with our secret can."""
FRESH = 3600.0
"""Seconds for which we believe what the issuer says of itself."""
AGAIN = 60.0
"""Seconds before its keys are asked for anew, when a token has one that we do not know."""
LEEWAY = 30
PATIENCE = 10.0


class Unvouched(Forbidden):
    """The issuer's answer does not hold, or says that somebody may do nothing here."""

    code = "unvouched"


@dataclass(frozen=True, slots=True)
class Errand:
    """What we remember while somebody is at the issuer's."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def begin(cls) -> Errand:
        """A new one."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))

    @property
    def challenge(self) -> str:
        """What shows later that it was we who asked."""
        digest = sha256(self.verifier.encode()).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class Vouched:
    """Whom the issuer vouches for."""

    issuer: str
    subject: str
    names: list[str]
    """What they may be called, the best first."""
    groups: list[str]
    """What the claim says that decides on roles."""


class Issuer:
    """The issuer of the settings, and what it says of itself."""

    def __init__(self, web: Web, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.web = web
        self.transport = transport
        self.facts: Mapping[str, Any] = {}
        self.keys: PyJWKSet | None = None
        self.facts_until = 0.0
        self.keys_at = 0.0

    async def way_there(self, errand: Errand, back: str) -> str:
        """The address at which the issuer asks people who they are."""
        facts = await self.describe()
        query = {
            "response_type": "code",
            "client_id": self.web.client_id,
            "redirect_uri": back,
            "scope": self.web.scope,
            "state": errand.state,
            "nonce": errand.nonce,
            "code_challenge": errand.challenge,
            "code_challenge_method": "S256",
        }
        address: str = facts["authorization_endpoint"]
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(query)}"

    async def vouch(self, errand: Errand, code: str, back: str) -> Vouched:
        """Whom the issuer vouches for by this code. Raises ``Unvouched``."""
        facts = await self.describe()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": errand.verifier,
        }
        answer = await self.ask("POST", facts["token_endpoint"], **self.as_client(facts, form))
        claims = await self.read(str(answer.get("id_token", "")))
        if not compare_digest(str(claims.get("nonce", "")).encode(), errand.nonce.encode()):
            raise Unvouched("the issuer's answer was made for another sign-in; begin anew")
        return self.as_vouched(claims)

    def as_client(self, facts: Mapping[str, Any], form: dict[str, str]) -> dict[str, Any]:
        """How we show that it is we who ask for a token."""
        ways = facts.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if not self.web.client_secret:
            return {"data": {**form, "client_id": self.web.client_id}}
        if "client_secret_basic" in ways:
            return {"data": form, "auth": (self.web.client_id, self.web.client_secret)}
        proof = {"client_id": self.web.client_id, "client_secret": self.web.client_secret}
        return {"data": form | proof}

    async def read(self, token: str) -> dict[str, Any]:
        """What an id token says, once its signature, sender, receiver and time are checked."""
        facts = await self.describe()
        try:
            key = await self.key(jwt.get_unverified_header(token).get("kid"))
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self.web.client_id,
                issuer=facts["issuer"],
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "aud", "iss", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise Unvouched(f"the issuer's answer does not hold: {error}") from error
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else self.web.client_id) != self.web.client_id:
            raise Unvouched("the issuer's answer was made for another program")
        return claims

    async def key(self, name: str | None) -> jwt.PyJWK:
        """The issuer's key of that name. Raises ``Unvouched``."""
        known = self.keys
        found = of_name(known, name)
        if found is None and time.monotonic() > self.keys_at + AGAIN:
            facts = await self.describe()
            self.keys = PyJWKSet.from_dict(await self.ask("GET", facts["jwks_uri"]))
            self.keys_at = time.monotonic()
            found = of_name(self.keys, name)
        if found is None:
            raise Unvouched("the issuer's answer is signed with a key that it does not publish")
        return found

    def as_vouched(self, claims: Mapping[str, Any]) -> Vouched:
        """Who that is, by what the issuer says."""
        subject = str(claims["sub"])
        host = host_of(self.web.issuer)
        told = [str(claims.get(claim, "")) for claim in ("preferred_username", "email")]
        names = ["-".join(name.split())[:100] for name in (*told, f"{subject}@{host}")]
        given = claims.get(self.web.claim, [])
        groups = given if isinstance(given, list) else str(given).split()
        return Vouched(
            issuer=self.web.issuer,
            subject=subject,
            names=[name for name in names if fault(name) is None],
            groups=[str(each) for each in groups],
        )

    async def describe(self) -> Mapping[str, Any]:
        """What the issuer says of itself. Raises ``Unvouched`` where it says it is another."""
        if time.monotonic() > self.facts_until:
            refuse_plain(self.web.issuer)
            address = f"{self.web.issuer}/.well-known/openid-configuration"
            facts = await self.ask("GET", address)
            if str(facts.get("issuer", "")).rstrip("/") != self.web.issuer:
                raise Unvouched(f"{address} is about another issuer: {facts.get('issuer')!r}")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                refuse_plain(str(facts.get(name, "")))
            self.facts, self.facts_until = facts, time.monotonic() + FRESH
        return self.facts

    async def ask(self, method: str, address: str, **options: Any) -> dict[str, Any]:
        """What the issuer answers. Raises ``IssuerUnreachable``, ``Unvouched``."""
        try:
            async with httpx.AsyncClient(timeout=PATIENCE, transport=self.transport) as client:
                answer = await client.request(method, address, **options)
                found = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise IssuerUnreachable(
                f"the issuer {host_of(address)} does not answer as it should"
            ) from error
        if answer.status_code >= 500:
            raise IssuerUnreachable(f"the issuer {host_of(address)} answers {answer.status_code}")
        if answer.status_code != 200 or not isinstance(found, dict):
            said = found.get("error", "") if isinstance(found, dict) else ""
            raise Unvouched(f"the issuer refused: {said or answer.status_code}")
        return found


class IssuerUnreachable(KokenError):
    """The issuer does not answer."""

    code = "issuer_unreachable"
    status = 503


def of_name(keys: PyJWKSet | None, name: str | None) -> jwt.PyJWK | None:
    """A key by its name; the only one where a token names none."""
    known = keys.keys if keys else []
    if name is None:
        return known[0] if len(known) == 1 else None
    return next((key for key in known if key.key_id == name), None)


def refuse_plain(address: str) -> None:
    """Raise ``Unvouched`` for an address at which anybody between us could answer."""
    if not address.startswith("https://") and not is_loopback(host_of(address)):
        raise Unvouched(f"{address!r} does not begin with https://; an issuer's addresses do")
