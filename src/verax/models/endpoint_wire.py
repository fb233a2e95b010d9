"""One connection to an endpoint: requests with an end, answers with a limit, cut from outside at any time."""

from __future__ import annotations

import selectors
import socket
import ssl
from collections.abc import Callable, Mapping
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from threading import Lock
from time import monotonic
from typing import Literal, NamedTuple

from verax.models.endpoint_address import Address
from verax.types import Undefined, UserError

LONGEST_BODY = 4 * 2**20
"""Bytes of an answer that are read."""
CONNECT_SECONDS = 10.0


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Message
    body: bytes

    def __repr__(self) -> str:
        return f"Reply({self.status})"  # an endpoint may send back the key


class Failed(Exception):
    """A request that brought no reply: nobody was reached, time was up, or the connection broke."""

    def __init__(self, reason: Literal["unreachable", "timeout", "connection_lost"], detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Wire:
    """A connection that is opened when it is needed and kept open between requests.

    It follows no redirect and uses no proxy: what is sent goes to the address and nowhere else. One thread posts;
    any other may cut.

    Args:
        address: where to.
        tls: how certificates are verified; None for plain HTTP.
        headers: of every request.
    """

    def __init__(self, address: Address, tls: ssl.SSLContext | None, headers: Mapping[str, str]) -> None:
        self._address, self._tls, self._headers = address, tls, headers
        self._http: HTTPConnection | None = None
        self._lock = Lock()  # of what another thread touches: all below
        self._socket: socket.socket | None = None
        self._deadline: float | None = None
        self._late = False
        self._ended = False

    def __repr__(self) -> str:
        return f"Wire({self._address.netloc})"  # the headers hold a key

    def post(self, body: bytes, seconds: float, before_sending: Callable[[], None]) -> Reply:
        """The reply to a body within so many seconds; raises Failed if there is none, Undefined if it is too big.

        Args:
            body: JSON.
            seconds: for connecting, sending and reading together.
            before_sending: called when the endpoint is reached, before it is sent anything.
        """
        self._limit(seconds)
        try:
            http = self._connected(seconds)
            self._check()  # cut before there was anything to cut
            before_sending()
            http.request("POST", self._address.path, body, dict(self._headers))
            with http.getresponse() as response:
                announced = response.chunked or response.length is not None
                reply = Reply(response.status, response.headers, _read(response))
                last = response.will_close
            if not announced:  # then the end of a cut connection looks like the end of the body
                self._check()
        except (OSError, HTTPException) as error:
            self.close()
            if self._late or isinstance(error, TimeoutError):
                raise Failed("timeout", f"no answer within {seconds:.3g} s") from None
            raise Failed("connection_lost", type(error).__name__) from None
        except BaseException:
            self.close()
            raise
        finally:
            self._limit(None)
        if last:
            self.close()
        return reply

    def cut(self, *, if_late: bool = False) -> None:
        """End this connection from another thread, for good; `if_late`: only a request whose time is up."""
        with self._lock:
            if if_late and (self._deadline is None or monotonic() < self._deadline):
                return
            self._late, self._ended = self._late or if_late, self._ended or not if_late
            if self._socket is not None:
                try:
                    # not the method of the TLS socket: that one first forgets its cipher, and what another
                    # thread sends in that moment would go out in the clear
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
                except OSError:
                    return  # it is down already

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            self._socket = None
        if self._http is not None:
            self._http.close()
        self._http = None

    def _check(self) -> None:
        if self._late or self._ended:
            raise ConnectionAbortedError

    def _limit(self, seconds: float | None) -> None:
        with self._lock:
            self._deadline = None if seconds is None else monotonic() + seconds
            if seconds is not None:
                self._late = False

    def _connected(self, seconds: float) -> HTTPConnection:
        if self._socket is not None and _has_something_to_say(self._socket):
            self.close()  # the server hung up, or sent more than it announced
        if self._http is None or self._socket is None:
            self._http = HTTPConnection(self._address.host, self._address.port)
            self._http.auto_open = 0  # a connection that nobody could cut
            self._http.set_debuglevel(0)  # it would print the key
            self._http.sock = self._open(seconds)
        self._socket.settimeout(seconds)  # type: ignore[union-attr]
        return self._http

    def _open(self, seconds: float) -> socket.socket:
        where = (self._address.host, self._address.port)
        try:
            opened = socket.create_connection(where, timeout=min(seconds, CONNECT_SECONDS))
            self._keep(opened)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                opened = self._tls.wrap_socket(opened, server_hostname=where[0], do_handshake_on_connect=False)
                self._keep(opened)
                opened.do_handshake()
        except ssl.SSLCertVerificationError as error:
            raise UserError(
                f"url: the certificate of {self._address.netloc} can't be verified: {error.verify_message}"
            ) from None
        except OSError as error:
            self.close()
            raise Failed("unreachable", error.strerror or str(error)) from None
        return opened

    def _keep(self, opened: socket.socket) -> None:
        with self._lock:
            self._socket = opened


def _has_something_to_say(idle: socket.socket) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(idle, selectors.EVENT_READ)
        return bool(selector.select(0))


def _read(response: HTTPResponse) -> bytes:
    if (response.length or 0) > LONGEST_BODY:
        raise _too_big()
    body = response.read(LONGEST_BODY + 1)
    if len(body) > LONGEST_BODY:
        raise _too_big()
    if response.length:  # what was announced and did not come
        raise IncompleteRead(b"", response.length)
    if not body and response.status == 200 and response.length is None and not response.chunked:
        raise IncompleteRead(b"")  # a server that dies amid its headers seems to have sent them all
    return body


def _too_big() -> Undefined:
    return Undefined("bad_answer", f"the answer is longer than {LONGEST_BODY} bytes")
