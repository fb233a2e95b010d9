"""Who may ask the viewer: holders of its token, through the address that it serves, from its own pages."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types verax"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Access:
    """The address of a viewer and the secrets that open it.

    Args:
        host: address that the server listens on.
        token: in the address that the terminal prints; it is exchanged for a cookie.
        session: value of that cookie.
    """

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers share cookies between the ports of a host."""
        return f"verax-{self.port}"

    @property
    def url(self) -> str:
        """The address to open."""
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - it is compared with
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/?token={self.token}"

    def is_own(self, host: str) -> bool:
        """Whether a Host header names this server: a name of another owner that points here is rejected."""
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        own = {self.host, f"[{self.host}]"}
        if ipaddress.ip_address(self.host).is_unspecified if _is_address(self.host) else False:
            # on all interfaces: by any of their numbers, which no other owner can give to a name
            return name in LOOPBACK or name == socket.gethostname() or _is_address(name.strip("[]"))
        return name in own or (name in LOOPBACK and self.is_loopback)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host == "localhost" or (_is_address(self.host) and ipaddress.ip_address(self.host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Rejects requests for another host, from another origin or without the secret, and adds headers to answers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # no web sockets, and nothing to start or stop
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._answer(scope)(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> ASGIApp:
        headers, access = Headers(scope=scope), self.access
        host = headers.get("host", "")
        if not access.is_own(host):
            return PlainTextResponse("This viewer is not at that address.", 421)
        origin = headers.get("origin")
        if origin != f"http://{host}" and (origin is not None or scope["method"] not in {"GET", "HEAD"}):
            return PlainTextResponse("Requests from other sites are refused.", 403)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token")
        if given is not None and _equal(given, access.token):
            left = urlencode([pair for pair in query if pair[0] != "token"])
            # from the root: a path that starts with two slashes would name another host
            answer = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{left}" if left else ""), 303)
            answer.set_cookie(access.cookie, access.session, httponly=True, samesite="strict")
            return answer
        if not _equal(cookie_parser(headers.get("cookie", "")).get(access.cookie, ""), access.session):
            return PlainTextResponse("Open the address that `verax view` printed: it contains the token.", 403)
        return self.app


def _equal(given: str, secret: str) -> bool:
    """Compare in a time that does not depend on what is equal."""
    return secrets.compare_digest(given.encode(), secret.encode())
