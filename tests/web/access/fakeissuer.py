"""An OpenID Connect issuer with a key of its own, and hands to make it answer wrongly."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

ISSUER = "https://id.example"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SECRET = "a secret of more than thirty-two bytes"


class FakeIssuer:
    """What it says of the person who signs in is ``claims``."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "248", "preferred_username": "anna", "groups": []}
        self.key: Any = KEY
        self.algorithm: str = "RS256"
        self.headers: dict[str, Any] = {"kid": "one"}
        self.token = ""
        self.facts: dict[str, Any] = {}
        self.asked: dict[str, dict[str, str]] = {}
        self.down = False
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.describe),
                Route("/keys", self.keys),
                Route("/token", self.exchange, methods=["POST"]),
            ]
        )
        self.transport = httpx.ASGITransport(self.app)

    def consent(self, address: str) -> dict[str, str]:
        """A person says yes at the address to which they were sent; gives what is sent back."""
        assert address.startswith(f"{ISSUER}/authorize?")
        query = {key: value[0] for key, value in parse_qs(urlsplit(address).query).items()}
        code = f"code-{len(self.asked)}"
        self.asked[code] = query
        return {"code": code, "state": query["state"], "iss": ISSUER}

    async def describe(self, _: Request) -> Response:
        if self.down:
            return Response("down", 503)
        return JSONResponse(
            {
                "issuer": ISSUER,
                "authorization_endpoint": f"{ISSUER}/authorize",
                "token_endpoint": f"{ISSUER}/token",
                "jwks_uri": f"{ISSUER}/keys",
                **self.facts,
            }
        )

    async def keys(self, _: Request) -> Response:
        public = json.loads(RSAAlgorithm.to_jwk(KEY.public_key()))
        return JSONResponse({"keys": [{**public, "kid": "one", "use": "sig"}]})

    async def exchange(self, request: Request) -> Response:
        form = dict(await request.form())
        query = self.asked.pop(str(form["code"]), None)
        proof = base64.b64encode(f"koken:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {proof}" or query is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        challenge = plain64(digest)
        if challenge != query["code_challenge"] or form["redirect_uri"] != query["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"id_token": self.token or self.sign(query["nonce"])})

    def sign(self, nonce: str) -> str:
        """What it vouches for."""
        now = int(time.time())
        said = {"iss": ISSUER, "aud": "koken", "iat": now, "exp": now + 300, "nonce": nonce}
        claims = {key: v for key, v in (said | self.claims).items() if v is not None}
        if self.algorithm == "HS256":
            return signed_by_hand(self.headers | {"alg": "HS256"}, claims, self.key)
        return jwt.encode(claims, self.key, algorithm=self.algorithm, headers=self.headers)


def signed_by_hand(headers: dict[str, Any], claims: dict[str, Any], key: bytes) -> str:
    """As somebody would who signs with what everybody knows; the library does not do that."""
    parts = [plain64(json.dumps(each).encode()) for each in (headers, claims)]
    proof = hmac.new(key, ".".join(parts).encode(), hashlib.sha256).digest()
    return ".".join((*parts, plain64(proof)))


def plain64(text: bytes) -> str:
    """Base64 as tokens have it."""
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()
