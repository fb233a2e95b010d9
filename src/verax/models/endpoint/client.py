"""The HTTP client of an endpoint: connections, time and size limits, repeated requests, and how many were sent."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_address
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from verax.models.endpoint.errors import (
    EndpointBadAnswer,
    EndpointConnectionLost,
    EndpointCutOff,
    EndpointEmptyAnswer,
    EndpointError,
    EndpointRefused,
    EndpointTimeout,
    EndpointTooManyRequests,
    EndpointUnreachable,
    MaxRequestsReached,
    RetryableError,
)
from verax.models.endpoint.key import Credentials
from verax.models.endpoint.response import Response, parse_response, quote
from verax.types import Generated, UserError

THREAD = "verax endpoint"
"""Name of the threads in which requests are made."""
COMPLETIONS = "/chat/completions"
LONGEST_BODY = 4 * 2**20
"""Bytes of a response that are read."""
CONNECT_SECONDS = 10.0
LONGEST_BACKOFF = 30.0
FAILURES_IN_A_ROW = 10
"""Prompts in a row without a readable answer after which the endpoint counts as broken."""
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "verax",
}
_EXAMPLE = "such as https://api.example.com/v1"


class Stopped(Exception):
    """No more requests are sent."""


@dataclass(eq=False, repr=False)
class Client:
    """Sends requests to one endpoint. What it counts holds for its whole life, whatever event loop it is used in.

    Args:
        credentials: sent with every request and hidden in every message.

    The other arguments are those of `Endpoint`.
    """

    url: str
    credentials: Credentials
    concurrency: int
    max_requests: int | None
    request_timeout: float
    total_timeout: float
    retries: int
    first_wait: float

    def __post_init__(self) -> None:
        self.host, self._completions = parse_url(self.url)
        # a context without certificates trusts no server: plain HTTP needs none, and they take a while to load
        is_tls = self._completions.startswith("https")
        self._tls = httpx2.create_ssl_context() if is_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._lock = threading.Lock()  # of the three below
        self.requests = self._failures = 0
        self._not_before = 0.0

    def __repr__(self) -> str:
        return f"Client({self.host})"

    @property
    def is_insecure(self) -> bool:
        """Whether requests leave this machine unencrypted."""
        parts = urlsplit(self._completions)
        return parts.scheme == "http" and not _is_loopback(parts.hostname or "")

    def open(self) -> httpx2.AsyncClient:
        """A pool of connections, for one event loop. Proxies are those of the environment; redirects are refused."""
        headers = httpx2.Headers(_HEADERS)
        headers.update(self.credentials.headers())
        try:
            return httpx2.AsyncClient(
                headers=headers,
                verify=self._tls,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # an answer depends on no other
                limits=httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency),
                event_hooks={"response": [self._refuse_redirect]},
            )
        except (ValueError, ImportError, httpx2.InvalidURL):  # the message may contain a password
            raise UserError(
                "url: the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY can't be used; it must be a URL such as "
                "http://proxy.example.com:3128 (for socks5://, install httpx2[socks])"
            ) from None

    async def ask(self, http: httpx2.AsyncClient, body: bytes, stop: asyncio.Event) -> Generated:
        """The answer to one request, repeated as often as allowed.

        Raises EndpointError if there is none, UserError if no request would be answered, and Stopped if `stop` is set
        before a request is sent.
        """
        try:
            answer = await self._with_retries(http, body, stop)
        except EndpointError as error:
            self._count_failure(error)
            raise
        with self._lock:
            self._failures = 0
        return answer

    async def _with_retries(self, http: httpx2.AsyncClient, body: bytes, stop: asyncio.Event) -> Generated:
        until = monotonic() + self.total_timeout
        error: RetryableError = EndpointTimeout("no request was sent")
        resume, attempts = 0.0, 0
        while attempts <= self.retries and await self._is_time(resume, until, stop):
            try:
                seconds = min(until - monotonic(), self.request_timeout)
                return parse_response(await self._post(http, body, seconds), self.credentials)
            except RetryableError as failed:
                error, resume = failed, monotonic() + self._pause_after(failed, attempts)
                attempts += 1
        if not attempts and self._not_before >= until:
            error = EndpointTooManyRequests("the endpoint asked for a longer wait than total_timeout")
        if isinstance(error, EndpointUnreachable):
            proxies = "; check the proxy settings in the environment" if getproxies() else ""
            raise UserError(f"url: {self.host} can't be reached: {error.detail}{proxies}")
        raise type(error)(f"{error.detail} (attempts: {attempts})")

    async def _post(self, http: httpx2.AsyncClient, body: bytes, seconds: float) -> Response:
        """The response to one request; raises RetryableError if there is none."""
        events = _Events(self._spend)
        timeout = httpx2.Timeout(None, connect=min(seconds, CONNECT_SECONDS))
        extensions = {"trace": events}
        try:
            async with (
                asyncio.timeout(seconds),
                http.stream(
                    "POST", self._completions, content=body, timeout=timeout, extensions=extensions
                ) as response,
            ):
                return Response(response.status_code, response.headers, await _read(response))
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            raise self._unreachable(error) from None
        except TimeoutError:
            if not events.is_sent:
                raise EndpointUnreachable("timed out") from None
            raise EndpointTimeout(f"no answer within {seconds:.3g} s") from None
        except httpx2.TransportError as error:
            raise EndpointConnectionLost(type(error).__name__) from None

    def _unreachable(self, error: Exception) -> EndpointUnreachable:
        """Why there is no connection; a UserError if the server can't be trusted, which no repetition changes."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise UserError(
                    f"url: the certificate of {self.host} can't be verified: {cause.verify_message}"
                ) from None
            if isinstance(cause, socket.gaierror | ssl.SSLError):
                return EndpointUnreachable(str(cause.strerror))
            if isinstance(cause, OSError) and cause.errno:
                return EndpointUnreachable(os.strerror(cause.errno))
            several = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else None  # one for each address
            cause = several or cause.__cause__ or cause.__context__
        if isinstance(error, httpx2.ConnectTimeout):
            return EndpointUnreachable("timed out")
        return EndpointUnreachable(quote(str(error), self.credentials.hide) or "the connection was closed")

    async def _refuse_redirect(self, response: httpx2.Response) -> None:
        if 300 <= response.status_code < 400:
            target = quote(response.headers.get("Location", "nowhere"), self.credentials.hide)
            raise UserError(
                f"url: the endpoint redirects (HTTP {response.status_code}) to {target}; redirects are not followed"
            )

    async def _is_time(self, resume: float, until: float, stop: asyncio.Event) -> bool:
        """Wait until `resume`, and until the endpoint accepts requests again; False if that is too late."""
        while not stop.is_set() and (moment := max(resume, self._not_before)) > monotonic():
            if moment >= until:
                return False
            try:
                await asyncio.wait_for(stop.wait(), moment - monotonic())
            except TimeoutError:
                continue
        if stop.is_set():
            raise Stopped
        return monotonic() < until

    def _pause_after(self, error: RetryableError, attempt: int) -> float:
        """Seconds until the next attempt. A wait that the endpoint asks for holds for all requests."""
        if not error.retry_after:
            return backoff(attempt, self.first_wait)
        with self._lock:
            self._not_before = max(self._not_before, monotonic() + error.retry_after)
        return error.retry_after + random.uniform(0, self.first_wait)  # so that not all come at once

    def _spend(self) -> None:
        """Count a request that is about to be sent."""
        with self._lock:
            if self.max_requests is not None and self.requests >= self.max_requests:
                raise MaxRequestsReached(
                    f"max_requests: all {self.max_requests} requests of this process are used up; answers so far are "
                    "kept, and the same command continues from there"
                )
            self.requests += 1

    def _count_failure(self, error: EndpointError) -> None:
        """Count prompts in a row without an answer; a refusal or an empty answer shows that the endpoint works."""
        works = isinstance(error, EndpointRefused | EndpointEmptyAnswer) and not isinstance(error, EndpointCutOff)
        with self._lock:
            self._failures = 0 if works else self._failures + 1
            if self._failures >= FAILURES_IN_A_ROW:
                raise UserError(f"the endpoint gave no answer to {self._failures} prompts in a row; the last: {error}")


class _Events:
    """Trace of one request: it is counted before it is sent, and rejected if answered too early."""

    def __init__(self, spend: Callable[[], None]) -> None:
        self._spend = spend
        self.is_sent = self._has_waited = False

    async def __call__(self, event: str, info: dict[str, Any]) -> None:
        if event == "http11.send_request_headers.started" and info["request"].method == b"POST":
            self._spend()
            self.is_sent = True
        elif event == "http11.receive_response_headers.started":
            asyncio.get_running_loop().call_soon(self._wait_is_over)
        elif event == "http11.receive_response_headers.complete" and not self._has_waited:
            # bytes that came behind the previous response, and would be taken for the answer to this request
            raise httpx2.RemoteProtocolError("a response before its request")

    def _wait_is_over(self) -> None:
        self._has_waited = True


class _NotOurs(logging.Filter):
    """Drops the log records of httpx2 about our requests: they may show what an endpoint sent back, even the key."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is about a request of other code."""
        return threading.current_thread().name != THREAD


for _name in ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy"):
    logging.getLogger(_name).addFilter(_NotOurs())


def backoff(attempt: int, first: float) -> float:
    """Seconds to wait after an attempt (counted from 0): doubled each time, with the upper half drawn at random.

    The random part spreads requests that were rejected at the same time.
    """
    longest = min(first * 2.0 ** min(attempt, 30), LONGEST_BACKOFF)
    return random.uniform(longest / 2, longest)


def parse_url(url: str) -> tuple[str, str]:
    """Host (with its port, if given) and URL for chat completions of a base URL without password, query or fragment."""
    if not all("!" <= character <= "~" for character in url):
        raise UserError(f"url: got {_shown(ascii(url))}; escape blanks and characters beyond ASCII, {_EXAMPLE}")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - out of range
        (parts.hostname or "").encode("idna")  # an empty name between dots, or one that is too long
    except ValueError as error:
        raise UserError(f"url: got {_shown(url)!r}, {error}; give a base URL {_EXAMPLE}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserError(f"url: got {_shown(url)!r}; give a base URL {_EXAMPLE}")
    if "@" in parts.netloc:
        raise UserError("url: it must not contain a name or password; keys come from the environment (key_env)")
    if parts.query or parts.fragment:
        raise UserError(f"url: a base URL has no ? and no #; give it {_EXAMPLE}")
    base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    if base.endswith(COMPLETIONS):
        raise UserError(f"url: give the base URL, without {COMPLETIONS}: {base.removesuffix(COMPLETIONS)}")
    return parts.netloc, base + COMPLETIONS


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _shown(url: str) -> str:
    """A URL for a message: without the parts before an @ and after a question mark, which may be secret."""
    return url.partition("?")[0].rpartition("@")[2]


async def _read(response: httpx2.Response) -> bytes:
    """The body as it was sent; raises EndpointBadAnswer if it is too long."""
    too_long = EndpointBadAnswer(f"the answer is longer than {LONGEST_BODY} bytes")
    announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) > LONGEST_BODY:
        raise too_long
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > LONGEST_BODY:
            raise too_long
    return bytes(body)
